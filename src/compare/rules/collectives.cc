#include "compare/rules/collectives.h"

#include <algorithm>

#include "base/text/text.h"
#include "compare/key_slots.h"
#include "compare/measure/measure.h"
#include "compare/names.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// Bit by bit, where there are tensors.
bool differs(const SlotComparison& slot) {
  if (slot.metrics) return slot.metrics->max_abs > 0 || slot.metrics->nan_mismatch_count > 0;
  return slot.from_statistics && slot.verdict == Verdict::own_error;
}

}  // namespace

void Collectives::find() {
  is_found_ = true;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    if (pairs_[i].golden == OperatorPair::kNone || pairs_[i].actual == OperatorPair::kNone) continue;
    const dump::OperatorRun run = golden_.without_slots(pairs_[i].golden);
    if (model::has_trait(run.type, model::Trait::collective))
      places_[{run.step, operator_name(run)}].push_back(i);
  }
}

void Collectives::look_at(OperatorComparison& op, const CompareOptions& options) {
  if (op.golden == nullptr || op.actual == nullptr ||
      !model::has_trait(op.run().type, model::Trait::collective))
    return;
  const auto is_bad = [&](model::Side side) {
    return std::ranges::any_of(op.slots, [&](const SlotComparison& slot) {
      return side_of(slot) == side && slot.verdict == Verdict::own_error;
    });
  };
  if (!is_bad(model::Side::output) || is_bad(model::Side::input)) return;
  if (!is_found_) find();
  const auto found = places_.find({op.run().step, operator_name(op.run())});
  if (found == places_.end()) return;
  for (const std::size_t place : found->second) {
    if (golden_.section_of(pairs_[place].golden).rank == op.run().rank) continue;
    OperatorComparison other = make_(pairs_[place]);
    for (SlotComparison& slot : other.slots) {
      if (side_of(slot) != model::Side::input) continue;
      measure_slot(slot, options, 1);
      if (!differs(slot)) continue;
      const double distance = slot.metrics ? slot.metrics->relative_l2 : 0;
      if (!op.other_rank || distance > op.other_rank->relative_l2)
        op.other_rank = OtherRank{other.run().rank, distance};
    }
  }
}

}  // namespace opdump::compare
