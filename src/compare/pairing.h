// Which operator of one dump is which of the other, and which slot is which.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dump/dump_set.h"

namespace opdump::compare {

// One of the two may be null: the operator or slot has no partner.
struct OperatorPair {
  const dump::OperatorRun* golden = nullptr;
  const dump::OperatorRun* actual = nullptr;
  bool is_alone = false;  // has no partner, as has nothing else of its rank and step
};
struct SlotPair {
  const dump::Slot* golden = nullptr;
  const dump::Slot* actual = nullptr;
};

struct Pairing {
  std::vector<OperatorPair> pairs;  // golden's order; an extra one follows what ran before it
  std::vector<std::string> notes;   // see Comparison::notes
};

// Pairs runs of the same (rank, graph, step): first by equal names (as layouts spell them; of what is left,
// in whatever graph), then, of what is left, by equal scope, type and slot shapes. Several of the same kind
// pair in order. A rank, graph or step that is the only one on each side need not be equal: a note says so.
// So does one where each dump is a single tensor. Both arguments are in the order of DumpSet::runs.
Pairing pair_operators(std::span<const dump::OperatorRun> golden, std::span<const dump::OperatorRun> actual);

// Pairs by side and index, or by what operands are called if both sides know that; several of the same in
// order. Inputs first, by index.
std::vector<SlotPair> pair_slots(const dump::OperatorRun& golden, const dump::OperatorRun& actual);

// The scope of an operator, sanitised: its full name up to the last '/'. Of a dump that knows only sanitised
// names, the name without its last piece, "_{type}-op12".
std::string scope_of(const dump::OperatorRun& run);

}  // namespace opdump::compare
