#include "compare/pairs/frame/frame.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace opdump::compare {

using dump::Runs;

bool is_tail(const Runs::Section& section, const Tails& tails) {
  const auto tail = tails.find(section.rank);
  return tail != tails.end() && tail->second >= 0 && section.step >= tail->second;
}

namespace {

template <typename Field>
std::optional<std::int64_t> single_value(const Runs& runs, const Tails& tails, Field field) {
  std::optional<std::int64_t> single;
  for (std::uint32_t i = 0; i < runs.section_count(); ++i) {
    if (is_tail(runs.section(i), tails)) continue;
    const std::int64_t value = field(runs.section(i));
    if (single.value_or(value) != value) return std::nullopt;
    single = value;
  }
  return single;
}

// True if the field must be equal. Adds a note where two single values differ.
template <typename Field>
bool needs_equal(std::string_view name, const Runs& golden, const Runs& actual, const TailsOfBoth& tails,
                 Field field, std::vector<std::string>& notes) {
  const auto g = single_value(golden, tails.golden, field), a = single_value(actual, tails.actual, field);
  if (!g || !a) return true;
  if (*g != *a)
    notes.push_back(std::string(name) + " " + std::to_string(*g) + " of golden is compared with " +
                    std::string(name) + " " + std::to_string(*a) + " of actual, the only one there");
  return false;
}

// Whether graphs are parts of a step. Otherwise each step is an execution of one graph, and which number a
// graph has depends on the steps that were run before.
bool have_graphs_in_common_steps(const Runs& runs) {
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const Runs::Section &last = runs.section_of(i - 1), &next = runs.section_of(i);
    if (last.rank == next.rank && last.step == next.step && last.graph_id != next.graph_id) return true;
  }
  return false;
}

}  // namespace

FrameRule make_rule(const Runs& golden, const Runs& actual, const TailsOfBoth& tails,
                    std::vector<std::string>& notes) {
  const auto rank = [](const Runs::Section& section) { return std::int64_t{section.rank}; };
  const auto graph = [](const Runs::Section& section) { return section.graph_id; };
  const auto step = [](const Runs::Section& section) { return section.step; };
  FrameRule rule;
  rule.rank = needs_equal("rank", golden, actual, tails, rank, notes);
  rule.graph = needs_equal("graph", golden, actual, tails, graph, notes) &&
               (have_graphs_in_common_steps(golden) || have_graphs_in_common_steps(actual));
  rule.step = needs_equal("step", golden, actual, tails, step, notes);
  return rule;
}

FrameRuns part_at(const Runs& runs, std::uint32_t first, const FrameRule& rule, const Tails& tails) {
  FrameRuns part{&runs, first, first};
  while (part.last < runs.size() &&
         rule.of(runs.section_of(part.last), tails) == rule.of(runs.section_of(first), tails))
    ++part.last;
  return part;
}

}  // namespace opdump::compare
