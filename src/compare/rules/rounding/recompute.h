// Operators that are simple enough to be computed again from the recorded tensors. Where both runs computed
// such a one right, what its outputs differ by came in with its inputs, however large it is: a mask that
// flips because an input lies beside the threshold, an update divided by almost nothing.
#pragma once

#include <optional>

#include "dump/read/operator_run.h"

namespace opdump::compare {

// Are the outputs those of the recorded inputs and arguments, but for rounding? Nothing for every other
// operator, where a tensor or an argument is not in the dump, and for tensors of more than 4 Mi elements.
std::optional<bool> is_computed_right(const dump::OperatorRun& run);

}  // namespace opdump::compare
