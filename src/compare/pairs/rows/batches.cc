#include "compare/pairs/rows/batches.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "compare/pairs/frame/scope.h"
#include "compare/pairs/rows/passes.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

constexpr std::size_t kMostCalls = 4096;

struct ModelCall {
  std::uint32_t rank = 0;
  Pass pass = {};
  bool trains = false, has_module = false;
};

// A call begins with a step, or with the operator of a module that its step has begun with: what runs between
// two calls of a step belongs to the first of them. What runs in no module belongs to the call before.
std::vector<ModelCall> find_calls(const dump::Runs& runs, CallStart start) {
  std::vector<ModelCall> calls;
  std::optional<std::pair<std::uint32_t, std::int64_t>> step;
  std::string first;  // operator of a module in the step
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    const dump::Runs::Section& section = runs.section_of(i);
    const dump::OperatorRun run = runs.without_slots(i);
    const bool is_new_step = step != std::pair(section.rank, section.step);
    if (is_new_step) first.clear();
    step = std::pair(section.rank, section.step);
    const bool is_forward = phase_of(run) == model::Phase::forward;
    const bool is_module = is_forward && run.op != nullptr && !is_outside_modules(run);
    const std::string name = is_module ? std::string(without_number(run.op->name, run.type)) : std::string();
    const bool is_new_rank = calls.empty() || calls.back().rank != section.rank;
    const bool is_again =
        start == CallStart::first_module && is_module && name == first && !calls.back().trains;
    if (is_new_rank || is_again || is_new_step) calls.push_back({.rank = section.rank, .pass = {i, i}});
    if (is_module && first.empty()) first = name;
    calls.back().pass.last = i + 1;
    calls.back().trains |= !is_forward;
    calls.back().has_module |= !is_outside_modules(run);
  }
  // What runs in no module is what a program does before or behind a call.
  std::vector<ModelCall> joined;
  for (const ModelCall& call : calls)
    if (!call.has_module && !joined.empty() && joined.back().rank == call.rank)
      joined.back().pass.last = call.pass.last;
    else
      joined.push_back(call);
  return joined;
}

struct BatchSizes {
  std::int64_t golden = 0, actual = 0;
  auto operator<=>(const BatchSizes&) const = default;
};

std::optional<model::Shape> shape_of(const dump::Runs& runs, std::uint32_t execution, const dump::Slot& of) {
  for (const dump::Slot& slot : runs.slots(execution))
    if (slot.side == of.side && slot.index == of.index) return slot.shape;
  return std::nullopt;
}

// Returns the sizes of the first axis of the outputs of modules: the pair of sizes that most outputs which
// differ have, or that most have if none differ.
BatchSizes find_sizes(const dump::Runs& golden, const dump::Runs& actual,
                      const std::vector<OperatorPair>& pairs) {
  std::map<BatchSizes, std::uint32_t> other, equal;
  for (const OperatorPair& pair : pairs) {
    if (!pair.is_whole() || is_outside_modules(golden.without_slots(pair.golden))) continue;
    for (const dump::Slot& slot : golden.slots(pair.golden)) {
      const auto in_actual = shape_of(actual, pair.actual, slot);
      if (slot.side != model::Side::output || !slot.shape || !in_actual || slot.shape->rank() == 0 ||
          slot.shape->rank() != in_actual->rank())
        continue;
      const BatchSizes sizes{(*slot.shape)[0], (*in_actual)[0]};
      ++(sizes.golden == sizes.actual ? equal : other)[sizes];
    }
  }
  const auto& counts = other.empty() ? equal : other;
  if (counts.empty()) return {1, 1};
  return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })->first;
}

// Whether an operator outside the model moves data for a call, or puts it together to a tensor of another
// size: which one of them it is, its number does not say.
bool prepares_batch(const dump::Runs& golden, const dump::Runs& actual, const OperatorPair& pair) {
  const dump::OperatorRun run = golden.without_slots(pair.golden);
  if (!is_outside_modules(run)) return false;
  if (kind_of(run.type).role == OperatorRole::moves) return true;
  if (!model::has_trait(run.type, model::Trait::chooses)) return false;
  for (const dump::Slot& slot : golden.slots(pair.golden))
    if (slot.side == model::Side::output && slot.shape != shape_of(actual, pair.actual, slot)) return true;
  return false;
}

// Operators that have a partner nowhere stay alone: behind those of their run before them.
std::vector<OperatorPair> with_singles(std::vector<OperatorPair> found) {
  std::set<std::uint32_t> golden, actual;
  for (const OperatorPair& pair : found) {
    if (!pair.is_whole()) continue;
    golden.insert(pair.golden);
    actual.insert(pair.actual);
  }
  std::erase_if(found, [&](const OperatorPair& pair) {
    if (pair.is_whole()) return false;
    const bool is_golden = pair.golden != OperatorPair::kNone;
    return !(is_golden ? golden : actual).insert(is_golden ? pair.golden : pair.actual).second;
  });
  return found;
}

std::uint32_t number_of_call(const std::vector<std::uint32_t>& calls, std::uint32_t execution) {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(calls, execution) - calls.begin());
}

}  // namespace

std::pair<std::uint32_t, std::uint32_t> SplitBatches::calls_of(const OperatorPair& pair) const {
  return {number_of_call(golden_calls, pair.golden), number_of_call(actual_calls, pair.actual)};
}

SplitBatches split_batches(const dump::Runs& golden, const dump::Runs& actual, CallStart start) {
  const std::vector<ModelCall> of_golden = find_calls(golden, start), of_actual = find_calls(actual, start);
  SplitBatches found;
  if (of_golden.size() + of_actual.size() > kMostCalls) return found;
  for (const ModelCall& call : of_golden) found.golden_calls.push_back(call.pass.first);
  for (const ModelCall& call : of_actual) found.actual_calls.push_back(call.pass.first);
  std::size_t i = 0, j = 0;
  std::int64_t golden_left = 0, actual_left = 0;  // rows of the two calls that are in no pair; 0: it is new
  bool has_others = false;
  std::vector<OperatorPair> pairs;
  while (i < of_golden.size() && j < of_actual.size()) {
    const ModelCall &g = of_golden[i], &a = of_actual[j];
    if (g.rank != a.rank) return {};
    std::vector<OperatorPair> of_calls = pair_passes(golden, g.pass, actual, a.pass);
    const BatchSizes sizes = find_sizes(golden, actual, of_calls);
    if (golden_left == 0) golden_left = sizes.golden;
    if (actual_left == 0) actual_left = sizes.actual;
    if (golden_left > sizes.golden || actual_left > sizes.actual) return {};
    const std::int64_t rows = std::min(golden_left, actual_left);
    const bool has_other_rows = rows < sizes.golden || rows < sizes.actual;
    if (has_other_rows) {
      if (g.trains || a.trains) return {};
      has_others = true;
      found.rows[{i + 1, j + 1}] = {
          .axis = {"row", sizes.golden, sizes.actual},
          .rows = {
              .golden = sizes.golden - golden_left, .actual = sizes.actual - actual_left, .count = rows}};
    }
    golden_left -= rows;
    actual_left -= rows;
    for (OperatorPair& pair : of_calls) {
      if (has_other_rows && pair.is_whole() && prepares_batch(golden, actual, pair)) {
        pairs.push_back({.golden = pair.golden});
        pairs.push_back({.actual = pair.actual});
      } else {
        pairs.push_back(std::move(pair));
      }
    }
    i += golden_left == 0;
    j += actual_left == 0;
  }
  if (i < of_golden.size() || j < of_actual.size() || !has_others) return {};
  found.pairs = with_singles(std::move(pairs));
  return found;
}

}  // namespace opdump::compare
