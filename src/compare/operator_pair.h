// Two operators that are the same one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compare/paired_by.h"

namespace opdump::compare {

// What became of an operator where an engine executed other operators than the other dump has.
enum class Fusion : std::uint8_t {
  none,
  fused,     // it stands for several of the other dump, and has the last of them for its partner
  part,      // another one stands for it
  added,     // the engine put it in
  unlogged,  // ran before or after what the other dump is a log of
  filtered,  // the other dump was not to have it
  before,    // of a step before the checkpoint that the other run goes on from
  // These occur with a run of another framework.
  folded,   // weights of one side are folded or stacked: only data is compared
  moves,    // only moves data
  makes,    // makes constants, shapes or random numbers
  foreign,  // the other framework has nothing like it
  // These occur with another program that computes the same.
  result,   // both make the same, each of what it has
  inside,   // the other run makes the same of other results
  parting,  // nothing that is made of what the two make is in both runs
  // These occur with a run of several ranks against one of one rank.
  collective,
  undivided,  // the other run has nothing like it
  // These occur with a quantised model.
  quantises,  // or dequantises
  quantised,  // a dequantisation stands for it: only results are compared
};

// For each element of golden's lists the one of actual that is the same.
using ElementOrder = std::vector<std::uint32_t>;

// Executions by their index in dump::Runs.
struct OperatorPair {
  static constexpr std::uint32_t kNone = UINT32_MAX;  // at most one of the two: it has no partner
  std::uint32_t golden = kNone, actual = kNone;
  bool is_alone = false;  // has no partner, as has nothing else of its rank and step
  Fusion fusion = Fusion::none;
  PairedBy paired_by = PairedBy::none;
  // Of the elements of its lists, where the two have them in another order; else null.
  std::shared_ptr<const ElementOrder> order = nullptr;
  // These are set for runs of different frameworks.
  float confidence = 1;  // that the two are the same operator
  std::uint32_t golden_first = kNone,
                actual_first = kNone;  // whose inputs count instead: it is joined with this one

  bool is_whole() const { return golden != kNone && actual != kNone; }
};

}  // namespace opdump::compare
