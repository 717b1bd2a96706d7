// Algorithms that a user writes in Python, as msaccucmp takes them: DIR/algorithm/alg_NAME.py with
// `compare(my_output, ground_truth, args)`, which returns two strings, the value and a message. They
// run in Pythons of their own, which stay for all tensors and get .npy files; python3 is that of
// OPDUMP_PYTHON or of PATH.
#pragma once

#include <map>
#include <string>

#include "compare/algorithms.h"
#include "compare/failure.h"

namespace opdump::msaccucmp {

// The algorithms in `folder` by name. Those that `selection` names are looked into: without a compare() of
// three arguments they do not count. Says what is wrong with files that are none. Failure: invalid_path -- a
// file that others may write, for it would run.
compare::Outcome<std::map<std::string, compare::CustomAlgorithm>> find_algorithm_plugins(
    const std::string& folder, const std::string& selection, compare::Journal& journal);

}  // namespace opdump::msaccucmp
