// `opdump show GOLDEN ACTUAL OPERATOR`: the tensors of both sides beside each other.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/select.h"

namespace opdump::cli {

struct PairArguments {
  std::string slot;  // only this one; empty: every slot
  bool json = false;
};

// Pairs each execution of `chosen` in `golden` with the one of the same name, rank and step in `actual`, and
// prints for each slot: how many elements differ, the worst one, both sides' elements around it, statistics
// and histograms. Returns whether anything differs. Errors: not_found -- `actual` has none of them, or there
// is no such slot.
Result<bool> show_pairs(const dump::DumpSet& golden, const dump::DumpSet& actual, const Chosen& chosen,
                        const PairArguments& arguments);

}  // namespace opdump::cli
