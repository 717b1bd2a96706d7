#include "compare/key_slots.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace opdump::compare {
namespace {

bool differs(const SlotComparison& slot) {
  return slot.verdict != Verdict::match && slot.verdict != Verdict::skipped &&
         slot.verdict != Verdict::unreadable;
}

bool is_worse(const SlotComparison& slot, const SlotComparison* than) {
  return slot.metrics && (than == nullptr || slot.metrics->max_abs >= than->metrics->max_abs);
}

using Found = std::vector<const SlotComparison*>;

// What a report may ask for: the first slots of several kinds, and the one that is off by most.
Found find_key_slots(const Found& slots) {
  const auto is_input = [](const SlotComparison& slot) { return side_of(slot) == model::Side::input; };
  std::vector<bool> is_told(slots.size());
  const auto tell_first = [&](const auto& test) {
    const auto found = std::ranges::find_if(slots, [&](const SlotComparison* slot) { return test(*slot); });
    if (found != slots.end()) is_told[static_cast<std::size_t>(found - slots.begin())] = true;
  };
  tell_first(is_input);
  tell_first([&](const SlotComparison& slot) { return is_input(slot) && slot.verdict == Verdict::match; });
  tell_first([&](const SlotComparison& slot) { return is_input(slot) && differs(slot); });
  tell_first([&](const SlotComparison& slot) { return !is_input(slot) && differs(slot); });
  tell_first([](const SlotComparison& slot) { return slot.verdict == Verdict::unreadable; });
  const SlotComparison* worst = nullptr;
  for (const SlotComparison* slot : slots)
    if (is_worse(*slot, worst)) worst = slot;
  Found telling;
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (is_told[i] || slots[i] == worst) telling.push_back(slots[i]);
  return telling;
}

// `run` with the slots of one side only.
std::shared_ptr<const dump::OperatorRun> with_slots(const dump::OperatorRun* run,
                                                    const dump::Slot* SlotComparison::*side,
                                                    std::vector<SlotComparison>& slots) {
  if (run == nullptr) return nullptr;
  auto copy = std::make_shared<dump::OperatorRun>(*run);
  copy->slots.clear();
  copy->slots.reserve(slots.size());  // they must stay where they are
  for (SlotComparison& slot : slots)
    if (slot.*side != nullptr) slot.*side = &copy->slots.emplace_back(*(slot.*side));
  return copy;
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

void keep_key_slots(std::optional<OperatorComparison>& kept, const OperatorComparison& part) {
  Found slots;
  if (kept)
    for (const SlotComparison& slot : kept->slots) slots.push_back(&slot);
  for (const SlotComparison& slot : part.slots) slots.push_back(&slot);
  const OperatorComparison& head = kept ? *kept : part;
  OperatorComparison next;
  for (const SlotComparison* slot : find_key_slots(slots)) next.slots.push_back(*slot);
  next.golden = with_slots(head.golden.get(), &SlotComparison::golden, next.slots);
  next.actual = with_slots(head.actual.get(), &SlotComparison::actual, next.slots);
  next.verdict = part.verdict;
  next.is_alone = part.is_alone;
  kept = std::move(next);
}

}  // namespace opdump::compare
