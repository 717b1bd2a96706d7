// A slot that one side has once and the other on each rank: how the ranks hold it, and which of them is
// wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "compare/comparison.h"
#include "compare/sharded/shard_layout.h"

namespace opdump::compare {

struct ShardedSlot {
  bool is_golden = false;                     // the side with more ranks
  std::size_t all_ranks = 0;                  // of that side
  std::vector<std::uint32_t> ranks = {};      // those that hold it
  std::vector<const dump::Slot*> slots = {};  // one for each rank; null where it has none
  bool may_sum = false;  // the ranks may hold terms of a sum; otherwise tried where nothing else fits
  // With `may_sum`: what each rank may have this many times, as gradients of the mean over its part of a
  // batch.
  double scale = 1;
  KnownLayout known = {};    // as declared or recorded; the rest is what fits best
  bool is_declared = false;  // by the user: nothing else is tried where it does not fit the shapes
  std::vector<std::size_t> places = {};  // which of `ranks` has each place of the mesh; empty: in their order

  // Against several ranks: the same tensor on other ranks that may hold it together. fully_shard cuts what
  // tensor parallelism has cut, so that parameters lie on other ranks than activations.
  std::vector<ShardedSlot> others = {};
  std::vector<std::shared_ptr<const dump::OperatorRun>> runs = {};  // with the slots of those

  std::size_t at_place(std::size_t place) const { return places.empty() ? place : places[place]; }
};

// Of a slot with `sharded`: what the side with one rank has.
inline const dump::Slot& whole_of(const SlotComparison& slot) {
  return slot.sharded->is_golden ? *slot.actual : *slot.golden;
}

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
