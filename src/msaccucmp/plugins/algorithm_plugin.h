// Algorithms that a user writes in Python, as msaccucmp takes them: DIR/algorithm/alg_NAME.py with
// `compare(my_output, ground_truth, args)`, which returns two strings, the value and a message. They
// run in Pythons of their own, which stay for all tensors and get .npy files; python3 is that of
// OPDUMP_PYTHON or of PATH.
#pragma once

#include <map>
#include <string>

#include "msaccucmp/failure.h"
#include "msaccucmp/judge/algorithms.h"

namespace opdump::msaccucmp {

// The algorithms of `custom`, as -c gives it, by name. Those that `selection` can mean are looked into:
// without a compare() of three arguments they are empty. Says what is wrong with files that are none.
// Failures: invalid_path -- a file that others may write, for it would run; unknown -- one above 1 MiB.
Outcome<std::map<std::string, CustomAlgorithm>> find_algorithm_plugins(const std::string& custom,
                                                                       const std::string& selection,
                                                                       Journal& journal);

}  // namespace opdump::msaccucmp
