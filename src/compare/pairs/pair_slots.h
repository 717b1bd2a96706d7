// Which slots of two executions are the same.
#pragma once

#include <vector>

#include "dump/read/operator_run.h"

namespace opdump::compare {

// One of the two may be null: the slot has no partner.
struct SlotPair {
  const dump::Slot* golden = nullptr;
  const dump::Slot* actual = nullptr;
};

// Pairs by side and index, or `by_name`, what operands are called, where they have one: if both sides know
// that, an absent one does not shift those after it. Several of the same pair in order. Inputs first, by
// name, then by index.
std::vector<SlotPair> pair_slots(const dump::OperatorRun& golden, const dump::OperatorRun& actual,
                                 bool by_name);

}  // namespace opdump::compare
