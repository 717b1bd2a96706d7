#include "compare/pairs/pairing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "compare/pairs/frame/frame.h"
#include "compare/pairs/frame/frame_pairing.h"

namespace opdump::compare {
namespace {

using dump::Runs;

// A single tensor, which is called as its file happens to be.
bool is_loose(const Runs& runs) {
  if (runs.size() != 1 || runs.slot_count(0) != 1) return false;
  const dump::OperatorRun run = runs.without_slots(0);
  return run.op == nullptr && run.type.empty();
}

// Two files that hold a tensor each are about the same one.
void join_loose(const Runs& golden, const Runs& actual, FramePairing& pairing,
                std::vector<std::string>& notes) {
  if (!is_loose(golden) || !is_loose(actual) || pairing.is_joined(0)) return;
  pairing.join(0, 0, PairedBy::file);
  notes.push_back(golden.without_slots(0).name + " of golden is compared with " +
                  actual.without_slots(0).name + " of actual, the only tensor there");
}

// What ran after the last step is compared as far as both runs go: an evaluation, or saving, of which one has
// more, is an open question. Removes what is beyond that from the pairs behind the first `begin`. A log
// begins and ends where its block does, so what only one side has behind the steps says nothing there.
// `is_explained`: of a pair, that a filter leaves it out.
template <typename IsExplained>
void leave_end_open(std::int64_t rank, std::size_t begin, bool has_log, const IsExplained& is_explained,
                    Pairing& pairing) {
  const auto is_whole = [](const OperatorPair& pair) { return pair.is_whole(); };
  const auto last = std::find_if(pairing.pairs.rbegin(),
                                 pairing.pairs.rend() - static_cast<std::ptrdiff_t>(begin), is_whole);
  std::uint64_t only_golden = 0, only_actual = 0;
  for (auto pair = last.base(); pair != pairing.pairs.end(); ++pair)
    if (!is_explained(*pair)) ++(pair->golden != OperatorPair::kNone ? only_golden : only_actual);
  pairing.pairs.erase(last.base(), pairing.pairs.end());
  if (has_log) return;
  for (const auto& [count, side] : {std::pair(only_golden, "golden"), std::pair(only_actual, "actual")})
    if (count > 0)
      pairing.incomplete.push_back("rank " + std::to_string(rank) + ": the last " +
                                   counted(count, "operator") + " after the last step " +
                                   inflect(count, "is", "are") + " only in " + side);
}

// Whether a step of one run ran before the first one of the other, which goes on from a checkpoint.
bool is_before_other(const Runs::Section& section, bool is_golden, const FrameRule& rule) {
  return is_golden ? section.step < rule.step_shift : section.step < -rule.step_shift;
}

// "step 0 of actual is step 3 of golden, by weights and data that are equal there".
std::string describe_shift(std::int64_t shift) {
  const bool is_golden_longer = shift > 0;
  return std::string("step 0 of ") + (is_golden_longer ? "actual" : "golden") + " is step " +
         std::to_string(std::abs(shift)) + " of " + (is_golden_longer ? "golden" : "actual") +
         ", by weights and data that are equal there, as where a run goes on from a checkpoint";
}

std::uint32_t find_execution(const dump::Runs& runs, const dump::OperatorRun* wanted) {
  if (wanted == nullptr) return OperatorPair::kNone;
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    const dump::Runs::Section& section = runs.section_of(i);
    if (section.step != wanted->step || section.rank != wanted->rank) continue;
    const dump::OperatorRun run = runs.without_slots(i);
    if (run.name == wanted->name && run.task == wanted->task) return i;
  }
  return OperatorPair::kNone;
}

}  // namespace

Pairing pair_operators(const Runs& golden, const Runs& actual, const TailsOfBoth& tails, bool are_shards,
                       const FiltersOfBoth& filters) {
  Pairing pairing;
  const FrameRule rule = make_rule(golden, actual, tails, pairing.notes);
  if (rule.step_shift != 0) pairing.notes.push_back(describe_shift(rule.step_shift));
  const bool has_log = !golden.have_full_scopes() || !actual.have_full_scopes();
  const MovedModules moved = MovedModules::find(golden, actual);
  std::ranges::move(moved.notes(), std::back_inserter(pairing.notes));
  bool by_path = false;
  bool has_fused = false;
  std::uint32_t aligned = 0, unlogged = 0;
  for (std::uint32_t g = 0, a = 0; g < golden.size() || a < actual.size();) {
    // Both are in order of their frames: the lower one is next.
    FrameRuns of_golden = part_at(golden, g, rule, tails.golden);
    FrameRuns of_actual = part_at(actual, a, rule, tails.actual);
    if (of_golden.size() > 0 && of_actual.size() > 0) {
      const SectionKey next_golden = rule.of(golden.section_of(g), tails.golden);
      const SectionKey next_actual = rule.of_actual(actual.section_of(a), tails.actual);
      if (next_golden > next_actual) of_golden.last = g;
      if (next_actual > next_golden) of_actual.last = a;
    }
    g = of_golden.last;
    a = of_actual.last;
    const std::uint32_t golden_size = of_golden.size(), actual_size = of_actual.size();
    const Runs::Section& section = golden_size > 0 ? golden.section_of(g - 1) : actual.section_of(a - 1);
    const bool is_after_steps = (golden_size > 0 && is_tail(golden.section_of(g - 1), tails.golden)) ||
                                (actual_size > 0 && is_tail(actual.section_of(a - 1), tails.actual));
    of_golden.rename(moved, MovedModules::RunSide::golden);
    of_actual.rename(moved, MovedModules::RunSide::actual);
    if (rule.steps_are_joined) {
      of_golden.number_again();
      of_actual.number_again();
    }
    FramePairing frame(std::move(of_golden), std::move(of_actual), rule);
    if (golden_size > 0 && actual_size > 0 && has_log && !frame.has_equal_names()) {
      by_path = true;
      frame.join_paths();
      unlogged += frame.leave_out_unlogged();
    } else if (golden_size > 0 && actual_size > 0) {
      aligned += frame.join_sequences();
      frame.join_names();
      frame.join_updates();
      if (!are_shards) pairing.has_reshaped |= frame.separate_reshaped();
      has_fused |= frame.note_fusions();
      join_loose(golden, actual, frame, pairing.notes);
      frame.join_signatures();
    }
    const std::size_t begin = pairing.pairs.size();
    frame.append_pairs(pairing.pairs);
    if (is_before_other(section, golden_size > 0, rule))
      for (std::size_t i = begin; i < pairing.pairs.size(); ++i) pairing.pairs[i].fusion = Fusion::before;
    const auto is_explained = [&](const OperatorPair& pair) { return filters.explain(pair, golden, actual); };
    // What a rank more does behind the last step, as sums of losses, is a part of what the first rank does.
    const bool is_of_more_ranks = are_shards && (golden_size == 0 || actual_size == 0);
    if (is_after_steps && !frame.is_whole())
      leave_end_open(section.rank, begin, has_log || is_of_more_ranks, is_explained, pairing);
  }
  if (aligned > 0)
    pairing.notes.push_back(counted(aligned, "operator", "are") +
                            " paired by shapes and neighbours, because one run has more of the same name");
  if (by_path)
    pairing.notes.emplace_back(
        "operators are paired by module and type, in order, because a log of DebugMode names no more");
  if (unlogged > 0)
    pairing.notes.push_back(counted(unlogged, "operator") + " of " +
                            (golden.have_full_scopes() ? "golden" : "actual") +
                            " ran before or after what the other dump is a log of: left out");
  if (has_fused) pairing.notes.emplace_back("fused operators are compared by the outputs of the last one");
  return pairing;
}

OperatorPair find_executions(const dump::Runs& golden, const dump::Runs& actual,
                             const OperatorComparison& op) {
  return {.golden = find_execution(golden, op.golden.get()),
          .actual = find_execution(actual, op.actual.get())};
}

}  // namespace opdump::compare
