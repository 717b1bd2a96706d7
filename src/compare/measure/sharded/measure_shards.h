// A slot that one side has once and the other on each rank: how the ranks hold it, and which of them is
// wrong.
#pragma once

#include <string>

#include "compare/comparison.h"
#include "compare/measure/sharded/sharded_slot.h"

namespace opdump::compare {

// measure_slot() for a slot with `sharded`. Each rank's tensor is compared with its part of the whole, in
// place; terms of a sum are added up in a scratch file. The metrics and the shape are those of the rank that
// is off by most. What is not known of the layout is tried, as shapes allow, on a few thousand elements, and
// the first that fits is taken, or else the one in which the fewest ranks are wrong.
void measure_shards(SlotComparison& slot, const CompareOptions& options, unsigned threads);

// How far the shards are from the whole in the layout that fits best, as relative L2 distance of a few
// thousand elements. Infinite where they do not fit.
double shard_distance(const SlotComparison& slot);

// Whether each rank looks up the rows of an embedding that it has, and masks the others later: what it reads
// and gives is no part of the whole.
bool looks_up_own_rows(const OperatorComparison& op);

// Puts the ranks that are wrong in front of the reasons of slots. Those of a sum are the ones whose inputs
// differ, if any do: the sum itself does not say which term is wrong.
void name_ranks(OperatorComparison& op);

// "input.1 holds terms of a sum: ..." if that explains an operator whose outputs differ; else empty.
std::string explain_sums(const OperatorComparison& op);

}  // namespace opdump::compare
