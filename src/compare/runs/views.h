// Views move no data, so a recording has none of them: where one has other arguments, only what reads it
// differs.
#pragma once

#include <string>

#include "compare/comparison.h"

namespace opdump::compare {

// Of a judged operator: "Default/slice-op1 at gen.py:20 has other arguments: start is 6 in golden and 5 in
// actual". Empty unless it is a view of both runs with other arguments, and they have as many ranks and the
// same framework.
std::string describe_other_view(const OperatorComparison& op);

}  // namespace opdump::compare
