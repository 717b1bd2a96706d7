#include "compare/pairs/frame/frame.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "compare/names.h"
#include "compare/pairs/frame/scope.h"

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

// Whether an optimizer updates weights. One that only clears gradients ends no step.
bool has_optimizer(const Runs& runs) {
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    if (phase_of(runs.without_slots(i)) != model::Phase::optimizer) continue;
    for (const dump::Slot& slot : runs.slots(i))
      if (slot.side == model::Side::input && slot.undumped_reason != "only written to") return true;
  }
  return false;
}

}  // namespace

bool end_steps_otherwise(const Runs& golden, const Runs& actual) {
  return golden.have_full_scopes() && actual.have_full_scopes() && trains(golden) && trains(actual) &&
         has_optimizer(golden) != has_optimizer(actual);
}

dump::OperatorRun FrameRuns::run_of(std::uint32_t i) const {
  dump::OperatorRun run = runs->without_slots(first + i);
  if (!is_moved(i)) return run;
  auto op = std::make_shared<dump::LoggedOperator>(*run.op);
  op->name = names[i];
  run.op = std::move(op);
  run.name = model::sanitise_name(names[i]);
  return run;
}

// Where operators of several modules get one scope, they are numbered again, in order of execution.
void FrameRuns::rename(const MovedModules& moved, MovedModules::RunSide side) {
  if (moved.empty()) return;
  struct Scope {
    bool has_moved = false, has_stayed = false;
    std::uint64_t next = 0;
  };
  std::map<std::string, Scope, std::less<>> scopes;  // with the type
  std::vector<std::string> now(size());
  for (std::uint32_t i = 0; i < size(); ++i) {
    const dump::OperatorRun run = runs->without_slots(first + i);
    if (run.op == nullptr || run.op->phase == model::Phase::optimizer) continue;
    auto name = moved.rename(run.op->name, side);
    Scope& scope = scopes[std::string(without_number(name ? *name : run.op->name, run.type))];
    (name ? scope.has_moved : scope.has_stayed) = true;
    now[i] = name ? *std::move(name) : run.op->name;
  }
  names.assign(size(), {});
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (now[i].empty()) continue;
    const std::string scope(without_number(now[i], runs->without_slots(first + i).type));
    Scope& here = scopes[scope];
    if (!here.has_moved) continue;
    names[i] = here.has_stayed ? scope + "-op" + std::to_string(here.next++) : std::move(now[i]);
  }
}

void FrameRuns::number_again() {
  std::map<std::string, std::uint64_t, std::less<>> next;  // by scope, with the type
  std::vector<std::string> now(size());
  for (std::uint32_t i = 0; i < size(); ++i) {
    const dump::OperatorRun run = run_of(i);
    if (run.op == nullptr) continue;
    const std::string scope(without_number(run.op->name, run.type));
    now[i] = scope + "-op" + std::to_string(next[scope]++);
    if (now[i] == runs->without_slots(first + i).op->name) now[i].clear();
  }
  names = std::move(now);
}

FrameRule make_rule(const Runs& golden, const Runs& actual, const TailsOfBoth& tails,
                    std::vector<std::string>& notes) {
  const auto rank = [](const Runs::Section& section) { return std::int64_t{section.rank}; };
  const auto graph = [](const Runs::Section& section) { return section.graph_id; };
  const auto step = [](const Runs::Section& section) { return section.step; };
  FrameRule rule;
  rule.rank = needs_equal("rank", golden, actual, tails, rank, notes);
  rule.graph = needs_equal("graph", golden, actual, tails, graph, notes) &&
               (have_graphs_in_common_steps(golden) || have_graphs_in_common_steps(actual));
  rule.steps_are_joined = end_steps_otherwise(golden, actual);
  if (rule.steps_are_joined) {
    rule.step = false;
    notes.emplace_back(
        "an optimizer ends the steps of one run alone: the operators of all steps are paired in order");
    return rule;
  }
  rule.step = tails.step_shift != 0 || needs_equal("step", golden, actual, tails, step, notes);
  rule.step_shift = tails.step_shift;
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
