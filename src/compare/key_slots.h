// The slots of an operator that a report names.
#pragma once

#include "compare/comparison.h"

namespace opdump::compare {

model::Side side_of(const SlotComparison& slot);

// The first slot of `side` that differs or has no partner; null if there is none.
const SlotComparison* first_difference(const OperatorComparison& op, model::Side side);

// The slot that represents an operator in a report: the first output that differs, else the first input that
// differs, else the first that cannot be read, else the one that is off by most; null if there is none.
const SlotComparison* key_slot(const OperatorComparison& op);

}  // namespace opdump::compare
