#include "dump/read/slots_by_operator.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

namespace opdump::dump {

std::size_t SlotsByOperator::OperatorHash::operator()(const MetOperator& op) const {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;
  std::uint64_t hash = (static_cast<std::uint64_t>(op.type) << 32 | op.name) * kMultiplier;
  hash ^= (op.execution + static_cast<std::uint64_t>(op.step.value_or(-1)) * kMultiplier);
  hash += op.rank * kMultiplier;
  return static_cast<std::size_t>(hash ^ hash >> 32);
}

void SlotsByOperator::add(const OperatorKey& op, const PlacedSlot& placed) {
  const MetOperator key{names_.add(op.type), names_.add(op.name), op.execution, op.step, op.rank};
  const auto [known, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(operators_.size()));
  if (is_new) operators_.push_back(key);
  entries_.push_back({known->second, store_.add(placed.slot, directory_), placed.slot.timestamp_us,
                      placed.task, placed.stream});
}

void SlotsByOperator::sort() {
  // Slots have their numbers in the order in which they were added.
  const auto order = [&](const SlotEntry& entry) {
    const MetOperator& op = operators_[entry.op];
    return std::tuple(op.rank, op.step.has_value(), op.step.value_or(0), entry.op, entry.timestamp_us,
                      store_.place(entry.slot), entry.slot);
  };
  const auto is_before = [&](const SlotEntry& a, const SlotEntry& b) { return order(a) < order(b); };
  if (!std::ranges::is_sorted(entries_, is_before)) std::ranges::sort(entries_, is_before);
}

OperatorRun SlotsByOperator::run_of(const SlotEntry& entry) const {
  const MetOperator& op = operators_[entry.op];
  OperatorRun run;
  run.rank = op.rank;
  run.step = op.step.value_or(0);
  run.type = names_[op.type];
  run.name = names_[op.name];
  run.task = entry.task;
  run.stream = entry.stream;
  return run;
}

void SlotsByOperator::drain(const TakeExecution& take) {
  sort();
  std::vector<std::uint32_t> slots;          // of the execution
  std::unordered_set<std::uint64_t> places;  // of these
  OperatorRun run;
  const auto finish = [&] {
    if (slots.empty()) return;
    std::ranges::stable_sort(slots, {}, [&](std::uint32_t slot) { return store_.place(slot); });
    take(std::exchange(run, {}), slots);
    slots.clear();
    places.clear();
  };
  const auto are_one = [&](const SlotEntry& file, const SlotEntry& row) {
    return !store_.is_table_row(file.slot) && store_.is_table_row(row.slot) && file.op == row.op &&
           file.timestamp_us == row.timestamp_us && store_.place(file.slot) == store_.place(row.slot);
  };
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const SlotEntry& entry = entries_[i];
    if (i > 0 && entries_[i - 1].op != entry.op) finish();
    if (!places.insert(store_.place(entry.slot)).second) {
      finish();
      places.insert(store_.place(entry.slot));
    }
    if (slots.empty()) run = run_of(entry);
    slots.push_back(entry.slot);
    if (i + 1 < entries_.size() && are_one(entry, entries_[i + 1]))
      store_.join_table_row(entry.slot, entries_[++i].slot);
  }
  finish();
}

}  // namespace opdump::dump
