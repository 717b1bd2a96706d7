// A pair of operators that is measured once more, alone.
#pragma once

#include <cstddef>

#include "compare/rules/rule.h"

namespace opdump::compare {

// The one at `place` in the pairs, with the metrics of its slots and the verdicts by them alone: no rule has
// looked at it. Reads its tensors.
OperatorComparison measured(const Study& study, std::size_t place);

}  // namespace opdump::compare
