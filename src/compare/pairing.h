// Which operator of one dump is which of the other, and which slot is which.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compare/paired_by.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

// What became of an operator where an engine executed other operators than the other dump has.
enum class Fusion : std::uint8_t {
  none,
  fused,     // it stands for several of the other dump, and has the last of them for its partner
  part,      // another one stands for it
  added,     // the engine put it in
  unlogged,  // ran before or after what the other dump is a log of
  // Of a run of another framework:
  folded,   // weights of one side are folded or stacked: only data is compared
  moves,    // only moves data
  makes,    // makes constants, shapes or random numbers
  foreign,  // the other framework has nothing like it
  // Of a run of several ranks against one of one rank:
  collective,
  undivided,  // the other run has nothing like it
  // Of a quantised model:
  quantises,  // or dequantises
  quantised,  // a dequantisation stands for it: only results are compared
};

// Executions by their index in dump::Runs.
struct OperatorPair {
  static constexpr std::uint32_t kNone = UINT32_MAX;  // at most one of the two: it has no partner
  std::uint32_t golden = kNone, actual = kNone;
  bool is_alone = false;  // has no partner, as has nothing else of its rank and step
  Fusion fusion = Fusion::none;
  PairedBy paired_by = PairedBy::none;
  // Of runs of different frameworks:
  float confidence = 1;  // that the two are the same operator
  std::uint32_t golden_first = kNone,
                actual_first = kNone;  // whose inputs count instead: it is joined with this one

  bool is_whole() const { return golden != kNone && actual != kNone; }
};
// One of the two may be null: the slot has no partner.
struct SlotPair {
  const dump::Slot* golden = nullptr;
  const dump::Slot* actual = nullptr;
};

struct Pairing {
  std::vector<OperatorPair> pairs;           // golden's order; an extra one follows what ran before it
  std::vector<std::string> notes;            // see Comparison::notes
  std::vector<std::string> incomplete = {};  // see Comparison::incomplete
};

// By rank: from which step on what was recorded is no step, but what ran after the last one
// (dump::RecordingStatus::tail_step).
using Tails = std::map<std::uint32_t, std::int64_t>;
struct TailsOfBoth {
  Tails golden, actual;
};

// Pairs runs of the same (rank, graph, step). Where one side has more operators of a type in a scope, these
// pair by shapes, neighbours, source lines and what their tensors begin with, in order, and a note says so.
// Others pair first by equal names (as layouts spell them; of what is left, in whatever graph), then, of what
// is left, by equal scope, type and slot shapes. An operator that an engine made of others bears the name of
// the last of them. Several of the same kind pair in order. A rank, graph or step that is the only one on
// each side need not be equal: a note says so. So does one where each dump is a single tensor. What ran after
// the last step is paired where both dumps have it after the same step and ran the same operators there; else
// it is left out, and a note says so. If one side is a log of DebugMode, operators whose names differ pair
// by type and path of modules, in order. Both arguments are in the order of DumpSet::runs. Of `are_shards`,
// other shapes do not tell operators of one name apart.
Pairing pair_operators(const dump::Runs& golden, const dump::Runs& actual, const TailsOfBoth& tails = {},
                       bool are_shards = false);

// Pairs by side and index, or `by_name`, what operands are called, where they have one: if both sides know
// that, an absent one does not shift those after it. Several of the same pair in order. Inputs first, by
// name, then by index.
std::vector<SlotPair> pair_slots(const dump::OperatorRun& golden, const dump::OperatorRun& actual,
                                 bool by_name);

// The scope of an operator, sanitised: its full name up to the last '/'. Of a dump that knows only sanitised
// names, the name without its last piece, "_{type}-op12".
std::string scope_of(const dump::OperatorRun& run);

}  // namespace opdump::compare
