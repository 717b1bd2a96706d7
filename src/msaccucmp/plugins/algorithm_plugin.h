// Algorithms that a user writes in Python, as msaccucmp takes them: DIR/algorithm/alg_NAME.py with
// `compare(my_output, ground_truth, args)`, which returns two strings, the value and a message. They
// run in Pythons of their own, which stay for all tensors and get .npy files; python3 is that of
// OPDUMP_PYTHON or of PATH.
#pragma once

#include <map>
#include <string>

#include "msaccucmp/judge/algorithms.h"
#include "msaccucmp/judge/layout_match.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {

// What a user adds with -c.
struct Plugins {
  std::map<std::string, CustomAlgorithm> algorithms;  // by name
  LayoutPlugin layouts;                               // may be empty
};

// Those of the directory `custom`, as -c gives it; "" for none. Algorithms that `selection` can mean are
// looked into: without a compare() of three arguments they are empty. Logs what is wrong with files that are
// none. Failures: those of check_path; invalid_path -- a file that others may write, for it would run;
// unknown -- one above 1 MiB, or an exception.
Outcome<Plugins> find_plugins(const std::string& custom, const std::string& selection, bool with_layouts,
                              Log& log);

}  // namespace opdump::msaccucmp
