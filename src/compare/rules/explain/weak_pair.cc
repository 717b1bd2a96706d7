#include <algorithm>

#include "compare/key_slots.h"
#include "compare/paired_by.h"
#include "compare/rules/explain/explain.h"

namespace opdump::compare {
namespace {

// Whether the two read the same, so that they are one operator however they were paired. A number says
// nothing: many operators read the same ones.
bool read_the_same(const OperatorComparison& op) {
  const auto has_several = [](const dump::Slot* slot) {
    return slot != nullptr && slot->shape && model::element_count(*slot->shape).value_or(0) > 1;
  };
  bool has_equal = false;
  for (const SlotComparison& slot : op.slots) {
    if (side_of(slot) != model::Side::input || slot.verdict == Verdict::skipped) continue;
    if (is_difference(slot.verdict)) return false;
    has_equal |= slot.verdict == Verdict::match && has_several(slot.golden);
  }
  return has_equal;
}

class WeakPair : public RuleState {
 public:
  bool look(OperatorComparison& op, Ledger&) override {
    if (op.confidence >= kCertainPair || !is_difference(op.verdict) || read_the_same(op)) return false;
    for (SlotComparison& slot : op.slots)
      if (is_difference(slot.verdict)) slot.verdict = Verdict::uncertain;
    op.verdict = Verdict::uncertain;
    op.cause.clear();
    return true;
  }
};

}  // namespace

const Rule kWeakPair{
    .name = "weak-pair",
    .sentence =
        "operators of two frameworks that are paired by their place alone are perhaps not the same: where "
        "they differ, and do not read the same, that is an open question",
    .stage = Stage::explain,
    .applies = [](const Study& study) { return study.relation.is_across; },
    .begin = begin_state<WeakPair>};

}  // namespace opdump::compare
