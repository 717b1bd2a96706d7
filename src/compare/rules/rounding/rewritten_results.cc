#include "compare/rules/rounding/rewritten_results.h"

#include <algorithm>
#include <utility>

#include "compare/facts/rewritten.h"
#include "compare/rules/rounding/conditioning.h"
#include "compare/wiring/content.h"

namespace opdump::compare {

void RewrittenResults::read() {
  if (golden_runs_ == nullptr) return;
  const dump::Runs &golden = *std::exchange(golden_runs_, nullptr), &actual = *actual_runs_;
  const RewrittenModules modules = find_rewritten(golden, actual, pairs_);
  const auto add = [&](const dump::Runs& runs, std::uint32_t index, Results& results) {
    if (index == OperatorPair::kNone) return;
    const dump::OperatorRun run = runs.without_slots(index);
    if (!modules.contains(run)) return;
    for (const dump::Slot& slot : runs.slots(index)) {
      if (slot.side != model::Side::output || !model::is_floating(slot.dtype)) continue;
      if (const auto print = fingerprint_of(slot))
        results[{print->count, print->sum}].insert(RewrittenModules::place_of(run));
    }
  };
  for (const OperatorPair& pair : pairs_) {
    if (pair.is_whole()) continue;
    add(golden, pair.golden, golden_);
    add(actual, pair.actual, actual_);
  }
}

bool RewrittenResults::contain(const SlotComparison& slot) {
  if (!slot.metrics || slot.golden == nullptr || slot.actual == nullptr || !model::is_floating(slot.dtype) ||
      slot.metrics->relative_l2 > strict_distance(slot.dtype))
    return false;
  read();
  if (golden_.empty() || actual_.empty()) return false;
  const auto of_golden = fingerprint_of(*slot.golden), of_actual = fingerprint_of(*slot.actual);
  if (!of_golden || !of_actual) return false;
  const auto made = golden_.find({of_golden->count, of_golden->sum});
  const auto other = actual_.find({of_actual->count, of_actual->sum});
  return made != golden_.end() && other != actual_.end() &&
         std::ranges::any_of(made->second, [&](const auto& place) { return other->second.contains(place); });
}

}  // namespace opdump::compare
