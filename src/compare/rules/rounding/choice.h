// Operators that compare numbers and say where the chosen ones are: topk, sort, argmax, a max pool. Where two
// numbers are equal within rounding, two runs may choose otherwise, and both are right.
#pragma once

#include <optional>

#include "dump/read/operator_run.h"

namespace opdump::compare {

// Are the places that the operator gave right for the recorded input? Of a pool: are the numbers that it gave
// there. Nothing for every other operator, without tensors, with a NaN, and for more than 16 Mi elements.
std::optional<bool> chooses_right(const dump::OperatorRun& run);

}  // namespace opdump::compare
