// Which executions of two dumps may be the same at all: those of one rank, graph and step.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "compare/facts/unfinished.h"
#include "compare/operator_pair.h"
#include "compare/pairs/frame/moved_modules.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

// What must be equal of two executions apart from their names; a field that has one value on each side is the
// same for all.
struct SectionKey {
  std::int64_t rank = 0, step = 0;                      // the order of a dump
  bool is_tail = false;                                 // it is what ran after the last step
  auto operator<=>(const SectionKey&) const = default;  // NOLINT(modernize-use-nullptr): not a pointer
};

// It is what ran after the last step.
bool is_tail(const dump::Runs::Section& section, const Tails& tails);

struct FrameRule {
  bool rank = true, graph = true, step = true;
  // A recording ends a step with the call of an optimizer of the framework, else where the loop of the
  // program begins again: of two runs of which only one has such an optimizer all steps are one frame, with
  // the tail.
  bool steps_are_joined = false;
  std::int64_t step_shift = 0;  // of actual's steps

  // The section of golden, or of actual with its steps as they are there.
  SectionKey of(const dump::Runs::Section& section, const Tails& tails) const {
    return {rank ? static_cast<std::int64_t>(section.rank) : 0, step ? section.step : 0,
            !steps_are_joined && is_tail(section, tails)};
  }
  // Of actual, with golden's steps.
  SectionKey of_actual(const dump::Runs::Section& section, const Tails& tails) const {
    SectionKey key = of(section, tails);
    if (step) key.step += step_shift;
    return key;
  }
  std::int64_t graph_of(const dump::Runs::Section& section) const { return graph ? section.graph_id : 0; }
};

// Whether both runs train, and the steps of one alone end with an optimizer: see FrameRule.
bool end_steps_otherwise(const dump::Runs& golden, const dump::Runs& actual);

// Adds a note for each field whose single values differ.
FrameRule make_rule(const dump::Runs& golden, const dump::Runs& actual, const TailsOfBoth& tails,
                    std::vector<std::string>& notes);

// The executions of one frame.
struct FrameRuns {
  const dump::Runs* runs = nullptr;
  std::uint32_t first = 0, last = 0;
  std::vector<std::uint32_t> partners{};  // of each: from the first of the other part, or OperatorPair::kNone
  std::vector<PairedBy> methods{};        // of each; of golden only
  std::vector<Fusion> fusions{};          // of each; empty: none
  std::vector<std::string> names{};       // of each that has another here; empty: none has

  std::uint32_t size() const { return last - first; }
  const dump::Runs::Section& section_of(std::uint32_t i) const { return runs->section_of(first + i); }
  // Without its slots, under the name that pairs it.
  dump::OperatorRun run_of(std::uint32_t i) const;
  // Whether it is called otherwise, because its module moved or it is numbered again.
  bool is_moved(std::uint32_t i) const { return !names.empty() && !names[i].empty(); }
  void rename(const MovedModules& moved, MovedModules::RunSide side);
  // Numbers the operators of each scope and type from 0 on, as if nothing had run in their step before.
  void number_again();
};

// The executions of the frame that the one at `first` belongs to.
FrameRuns part_at(const dump::Runs& runs, std::uint32_t first, const FrameRule& rule, const Tails& tails);

}  // namespace opdump::compare
