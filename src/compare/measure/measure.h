// One pair of slots: what the two tensors, or their statistics, say.
#pragma once

#include "compare/comparison.h"

namespace opdump::compare {

// Fills everything of `slot` but golden and actual, which the caller has set. The verdict is that of the slot
// alone: a difference is own_error until the operator has been judged (verdict/verdict.h). Reads files; may
// be called for different slots at the same time. `threads` share one large pair of tensors.
void measure_slot(SlotComparison& slot, const CompareOptions& options, unsigned threads);

}  // namespace opdump::compare
