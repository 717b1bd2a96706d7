#include "compare/key_slots.h"

#include <algorithm>

namespace opdump::compare {
namespace {

bool differs(const SlotComparison& slot) {
  return slot.verdict != Verdict::match && slot.verdict != Verdict::skipped &&
         slot.verdict != Verdict::unreadable;  // "rounding" is shown with its numbers
}

bool is_worse(const SlotComparison& slot, const SlotComparison* than) {
  return slot.metrics && (than == nullptr || slot.metrics->max_abs >= than->metrics->max_abs);
}

}  // namespace

model::Side side_of(const SlotComparison& slot) {
  return (slot.golden != nullptr ? slot.golden : slot.actual)->side;
}

const SlotComparison* first_difference(const OperatorComparison& op, model::Side side) {
  const auto found = std::ranges::find_if(
      op.slots, [&](const SlotComparison& slot) { return side_of(slot) == side && differs(slot); });
  return found == op.slots.end() ? nullptr : &*found;
}

const SlotComparison* key_slot(const OperatorComparison& op) {
  for (const model::Side side : {model::Side::output, model::Side::input})
    if (const SlotComparison* slot = first_difference(op, side)) return slot;
  const SlotComparison* worst = nullptr;
  for (const SlotComparison& slot : op.slots) {
    if (slot.verdict == Verdict::unreadable) return &slot;
    if (is_worse(slot, worst)) worst = &slot;
  }
  return worst;
}

}  // namespace opdump::compare
