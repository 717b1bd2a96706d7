#include "compare/pairs/frame/resumed.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compare/names.h"
#include "compare/pairs/frame/frame.h"
#include "compare/wiring/content.h"

namespace opdump::compare {
namespace {

using dump::Runs;

constexpr std::size_t kMostProbes = 48;        // of a step
constexpr std::size_t kMostReads = 1 << 16;    // of all steps
constexpr std::uint64_t kMostBytes = 1 << 20;  // of a tensor
constexpr std::uint64_t kFewestElements = 4;   // equal by chance, as flags are

// Some input of the first step's forward pass.
struct Probe {
  std::string name;  // of its operator
  std::uint32_t index = 0;
  std::string content;
};

bool is_of_step(const Runs::Section& section, std::uint32_t rank, const Tails& tails) {
  return section.rank == rank && !is_tail(section, tails);
}

// What tells a tensor from others: its elements, or its statistics where the dump has these only.
std::optional<std::string> content_of(const dump::Slot& slot) {
  if (element_count_of(slot) < kFewestElements) return std::nullopt;
  if (slot.file.empty()) {
    if (slot.statistics.empty()) return std::nullopt;
    std::string text;
    for (const auto& [column, value] : slot.statistics.columns())
      if (column == "Max Value" || column == "Min Value" || column == "L2Norm Value") text += value + " ";
    return text;
  }
  if (slot.stored_bytes() > kMostBytes) return std::nullopt;
  const auto print = fingerprint_of(slot);
  if (!print) return std::nullopt;
  return std::to_string(print->sum) + " " + std::to_string(print->count);
}

// Inputs from all over the forward pass of a run's first step.
std::vector<Probe> find_probes(const Runs& runs, std::uint32_t rank, const Tails& tails) {
  std::optional<std::int64_t> first;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> inputs;  // of executions
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    const Runs::Section& section = runs.section_of(i);
    if (!is_of_step(section, rank, tails)) continue;
    if (section.step != first.value_or(section.step)) break;
    first = section.step;
    const dump::OperatorRun run = runs.without_slots(i);
    if (run.op == nullptr || run.op->phase != model::Phase::forward || module_of(run) == "Default") continue;
    for (const dump::Slot& slot : runs.slots(i))
      if (slot.side == model::Side::input && slot.has_data()) inputs.emplace_back(i, slot.index);
  }
  std::vector<Probe> probes;
  const std::size_t count = std::min(kMostProbes, inputs.size());
  for (std::size_t k = 0; k < count; ++k) {
    const auto [execution, index] = inputs[k * inputs.size() / count];
    for (const dump::Slot& slot : runs.slots(execution)) {
      if (slot.side != model::Side::input || slot.index != index) continue;
      if (auto content = content_of(slot))
        probes.push_back({runs.without_slots(execution).op->name, index, std::move(*content)});
    }
  }
  return probes;
}

// Of each step of a run, or of one only, which probes are equal there.
std::map<std::int64_t, std::vector<bool>> find_equal(const Runs& runs, std::uint32_t rank, const Tails& tails,
                                                     const std::vector<Probe>& probes,
                                                     std::optional<std::int64_t> only = std::nullopt) {
  std::multimap<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < probes.size(); ++i) by_name.emplace(probes[i].name, i);
  std::map<std::int64_t, std::vector<bool>> equal;
  std::size_t reads = 0;
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    const Runs::Section& section = runs.section_of(i);
    if (!is_of_step(section, rank, tails) || section.step != only.value_or(section.step)) continue;
    const dump::OperatorRun run = runs.without_slots(i);
    if (run.op == nullptr) continue;
    const auto [begin, end] = by_name.equal_range(run.op->name);
    if (begin == end) continue;
    std::vector<bool>& here = equal.try_emplace(section.step, probes.size(), false).first->second;
    for (const dump::Slot& slot : runs.slots(i))
      for (auto probe = begin; probe != end; ++probe)
        if (slot.side == model::Side::input && slot.index == probes[probe->second].index &&
            ++reads <= kMostReads && content_of(slot) == probes[probe->second].content)
          here[probe->second] = true;
  }
  return equal;
}

// How many steps `whole` ran before the first one of `resumed`, which is its step `first`: 0 if most of what
// that reads is equal in the same step. Nothing if the data does not say.
std::optional<std::int64_t> count_steps_before(const Runs& whole, const Tails& whole_tails,
                                               const Runs& resumed, const Tails& resumed_tails,
                                               std::uint32_t rank, std::int64_t first) {
  const std::vector<Probe> probes = find_probes(resumed, rank, resumed_tails);
  const auto count = [](const std::vector<bool>& step) {
    return static_cast<std::size_t>(std::ranges::count(step, true));
  };
  for (const auto& [step, is_equal] : find_equal(whole, rank, whole_tails, probes, first))
    if (2 * count(is_equal) >= probes.size()) return 0;
  const auto equal = find_equal(whole, rank, whole_tails, probes);
  std::map<std::int64_t, std::size_t> votes;  // of probes that are equal in one step only
  std::size_t all_votes = 0;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const auto has = [&](const auto& step) { return bool{step.second[i]}; };
    if (std::ranges::count_if(equal, has) != 1) continue;
    ++votes[std::ranges::find_if(equal, has)->first];
    ++all_votes;
  }
  const auto best = std::ranges::max_element(votes, {}, [](const auto& step) { return step.second; });
  if (best == votes.end()) return std::nullopt;
  const bool is_clear = best->second >= 2 && 4 * best->second >= 3 * all_votes &&
                        4 * count(equal.at(best->first)) >= probes.size();
  return is_clear && best->first > first ? std::optional(best->first - first) : std::nullopt;
}

std::set<std::int64_t> steps_of(const Runs& runs, std::uint32_t rank, const Tails& tails) {
  std::set<std::int64_t> steps;
  for (std::uint32_t i = 0; i < runs.section_count(); ++i)
    if (is_of_step(runs.section(i), rank, tails)) steps.insert(runs.section(i).step);
  return steps;
}

}  // namespace

std::int64_t find_step_shift(const Runs& golden, const Runs& actual, const TailsOfBoth& tails) {
  if (golden.empty() || actual.empty()) return 0;
  const std::uint32_t rank = golden.section_of(0).rank;
  const std::set<std::int64_t> g = steps_of(golden, rank, tails.golden),
                               a = steps_of(actual, rank, tails.actual);
  const bool may_be_later = !g.empty() && !a.empty() && (g.size() > 1 || a.size() > 1);
  // Only training changes weights: other programs read the same ones in all steps, and may have lost data.
  if (!may_be_later || !trains(golden) || !trains(actual)) return 0;
  if (const auto before = count_steps_before(golden, tails.golden, actual, tails.actual, rank, *a.begin()))
    return *before;
  return -count_steps_before(actual, tails.actual, golden, tails.golden, rank, *g.begin()).value_or(0);
}

}  // namespace opdump::compare
