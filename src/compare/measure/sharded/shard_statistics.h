// Statistics of shards against those of the whole, where there are no elements.
#pragma once

#include "compare/comparison.h"

namespace opdump::compare {

// measure_slot() for a slot with `sharded` of which some tensors are not in the dumps. Extremes, means, norms
// and counts of parts add up to those of the whole; ranks that have all of it are compared one by one.
// Statistics of terms say nothing of their sum: what may be one is skipped, with the reason.
void measure_shard_statistics(SlotComparison& slot, const CompareOptions& options);

}  // namespace opdump::compare
