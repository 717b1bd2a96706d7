// A slot that one side has once and the other on each rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "compare/comparison.h"
#include "compare/measure/sharded/shard_layout.h"

namespace opdump::compare {

struct ShardedSlot {
  bool is_golden = false;                     // the side with more ranks
  std::size_t all_ranks = 0;                  // of that side
  std::vector<std::uint32_t> ranks = {};      // those that hold it
  std::vector<const dump::Slot*> slots = {};  // one for each rank; null where it has none
  bool may_sum = false;  // the ranks may hold terms of a sum; otherwise tried where nothing else fits
  // If `may_sum`, each rank may have its part this many times, as gradients of the mean over its part of a
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

// Returns what the side with one rank has. The slot must have `sharded`.
inline const dump::Slot& whole_of(const SlotComparison& slot) {
  return slot.sharded->is_golden ? *slot.actual : *slot.golden;
}

}  // namespace opdump::compare
