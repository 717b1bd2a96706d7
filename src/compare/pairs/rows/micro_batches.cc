#include "compare/pairs/rows/micro_batches.h"

#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "compare/pairs/frame/frame.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// What a run did in a step: passes forward and backward, and what follows them.
struct PassesOfStep {
  std::uint32_t rank = 0;
  std::int64_t step = 0;
  std::vector<Pass> passes = {};
  Pass rest = {};
};

// A pass begins with the first operator behind the gradients of the one before, if a module follows.
std::vector<PassesOfStep> find_passes(const dump::Runs& runs) {
  std::vector<PassesOfStep> found;
  bool has_module = false;
  const auto end_pass = [&](std::uint32_t end) {
    if (has_module) found.back().passes.push_back({found.back().rest.first, end});
    if (has_module) found.back().rest.first = end;
    has_module = false;
  };
  std::uint32_t last_gradient = 0;  // of the pass, the execution behind it; 0: none yet
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    const dump::Runs::Section& section = runs.section_of(i);
    if (found.empty() || found.back().rank != section.rank || found.back().step != section.step) {
      if (last_gradient > 0) end_pass(last_gradient);
      last_gradient = 0;
      has_module = false;
      found.push_back({.rank = section.rank, .step = section.step, .rest = {i, i}});
    }
    found.back().rest.last = i + 1;
    const dump::OperatorRun run = runs.without_slots(i);
    const model::Phase phase = phase_of(run);
    if (phase == model::Phase::backward) last_gradient = has_module ? i + 1 : 0;
    if (phase != model::Phase::forward) continue;
    if (is_outside_modules(run)) continue;
    if (last_gradient > 0) end_pass(last_gradient);
    last_gradient = 0;
    has_module = true;
  }
  if (last_gradient > 0) end_pass(last_gradient);
  return found;
}

// The steps of a loop that updates weights itself say nothing of its updates: as many of its passes are a
// step as makes the number of `steps`, and what follows a pass belongs to the next one.
void join_steps(std::vector<PassesOfStep>& many, std::size_t steps) {
  std::vector<Pass> passes;
  for (const PassesOfStep& step : many)
    for (const Pass& pass : step.passes)
      passes.push_back({passes.empty() ? pass.first : passes.back().last, pass.last});
  if (steps == 0 || passes.size() % steps != 0 || many.front().rank != many.back().rank) return;
  const auto count = static_cast<std::ptrdiff_t>(passes.size() / steps);
  const std::uint32_t end = many.back().rest.last;
  std::vector<PassesOfStep> joined;
  for (auto pass = passes.begin(); pass != passes.end(); pass += count) {
    const std::uint32_t last = (pass + count - 1)->last;
    joined.push_back({.rank = many.front().rank,
                      .step = static_cast<std::int64_t>(joined.size()),
                      .passes = {pass, pass + count},
                      .rest = {last, last}});
  }
  joined.back().rest.last = end;
  many = std::move(joined);
}

std::size_t count_passes(std::span<const PassesOfStep> steps) {
  std::size_t count = 0;
  for (const PassesOfStep& step : steps) count += step.passes.size();
  return count;
}

bool is_of_one_side(const OperatorPair& pair, bool is_golden) {
  return (is_golden ? pair.actual : pair.golden) == OperatorPair::kNone;
}

// What cuts data gives another number of pieces in each run. What only the run with one batch has is listed
// once.
void append(const OperatorPair& pair, bool is_first, bool are_of_golden, const dump::Runs& golden,
            const dump::Runs& actual, std::vector<OperatorPair>& pairs) {
  const bool cuts = pair.is_whole() && golden.slot_count(pair.golden) != actual.slot_count(pair.actual) &&
                    kind_of(golden.without_slots(pair.golden).type).role == OperatorRole::moves;
  if (!cuts) {
    if (is_first || !is_of_one_side(pair, !are_of_golden)) pairs.push_back(pair);
    return;
  }
  if (is_first || are_of_golden) pairs.push_back({.golden = pair.golden});
  if (is_first || !are_of_golden) pairs.push_back({.actual = pair.actual});
}

}  // namespace

std::uint32_t MicroBatches::number_of(const OperatorPair& pair) const {
  const std::uint32_t execution = are_of_golden ? pair.golden : pair.actual;
  if (execution == OperatorPair::kNone) return 0;
  const auto next = std::ranges::upper_bound(all, execution, {}, &Pass::first);
  if (next == all.begin() || execution >= std::prev(next)->last) return 0;
  return numbers.at(std::prev(next)->first);
}

std::uint32_t MicroBatches::count() const {
  std::uint32_t most = 0;
  for (const auto& [first, number] : numbers) most = std::max(most, number);
  return most;
}

std::optional<MicroBatchPairs> pair_micro_batches(const dump::Runs& golden, const dump::Runs& actual) {
  std::vector<PassesOfStep> in_golden = find_passes(golden), in_actual = find_passes(actual);
  if (end_steps_otherwise(golden, actual)) {
    const std::size_t of_golden = count_passes(in_golden), of_actual = count_passes(in_actual);
    if (of_golden > of_actual) join_steps(in_golden, of_actual);
    if (of_actual > of_golden) join_steps(in_actual, of_golden);
  }
  // What one run alone does after its last step is left open, if it is more than to take a number.
  bool leaves_end_open = false;
  for (const auto& [longer, shorter, runs] :
       {std::tuple(&in_golden, &in_actual, &golden), {&in_actual, &in_golden, &actual}}) {
    if (longer->size() != shorter->size() + 1 || !longer->back().passes.empty()) continue;
    const Pass rest = longer->back().rest;
    for (std::uint32_t i = rest.first; i < rest.last; ++i)
      leaves_end_open |= !model::has_trait(runs->without_slots(i).type, model::Trait::hands_over);
    longer->pop_back();
    break;
  }
  if (in_golden.empty() || in_golden.size() != in_actual.size()) return std::nullopt;
  const bool are_of_golden = in_golden.front().passes.size() > in_actual.front().passes.size();
  const std::vector<PassesOfStep>&many = are_of_golden ? in_golden : in_actual,
        &one = are_of_golden ? in_actual : in_golden;
  MicroBatchPairs found{.leaves_end_open = leaves_end_open};
  found.batches.are_of_golden = are_of_golden;
  for (std::size_t step = 0; step < one.size(); ++step) {
    const PassesOfStep &several = many[step], &single = one[step];
    const bool is_tail = several.passes.empty() && single.passes.empty();
    if (several.rank != single.rank || (!is_tail && (single.passes.size() != 1 || several.passes.size() < 2)))
      return std::nullopt;
    const auto add = [&](const Pass& of_many, const Pass& of_one, bool is_first) {
      for (const OperatorPair& pair :
           pair_passes(golden, are_of_golden ? of_many : of_one, actual, are_of_golden ? of_one : of_many))
        append(pair, is_first, are_of_golden, golden, actual, found.pairs);
    };
    for (const Pass& pass : several.passes) {
      add(pass, single.passes.front(), &pass == &several.passes.front());
      found.batches.numbers[pass.first] = static_cast<std::uint32_t>(&pass - several.passes.data()) + 1;
      found.batches.all.push_back(pass);
    }
    add(several.rest, single.rest, true);
  }
  if (found.batches.all.empty()) return std::nullopt;
  return found;
}

}  // namespace opdump::compare
