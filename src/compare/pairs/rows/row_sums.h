// What follows from rows or positions that only one run has: sums over them, and gradients of these.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compare/pairs/rows/axis_map.h"
#include "compare/pairs/rows/paired_runs.h"

namespace opdump::compare {

class RowSums {
 public:
  explicit RowSums(const PairedRuns& runs);

  // What a step is whose micro-batches have all rows of a batch: `is_update`: it is behind these.
  struct StepKind {
    bool is_complete = false, is_update = false;
  };
  // Takes the pair at `place`, one after the other; `map` is that of its step, null if it has none.
  void add(std::size_t place, const RowAxisMap* map, StepKind kind);

  // Whether rows of a rank got something of others, as in a batch norm, so that gradients are no sums of
  // those of micro-batches.
  bool mixes_rows(std::uint32_t rank) const { return first_.contains(rank); }

  // The place of the pair that put rows together which this one, at `place`, follows from. `input`: only what
  // it reads there.
  std::optional<std::size_t> source_of(std::size_t place) const;
  std::optional<std::size_t> source_of_input(std::size_t place, std::uint32_t input) const;

 private:
  static constexpr std::uint32_t kNone = OperatorPair::kNone;
  std::uint32_t find_source(bool is_golden, std::uint32_t execution, std::uint32_t input) const;
  std::uint32_t note_inputs(bool is_golden, std::uint32_t execution, std::size_t place);
  bool has_left_out_input(std::size_t place) const;
  bool puts_together(std::size_t place, const RowAxisMap& map) const;
  bool hands_on(std::size_t place, std::uint32_t output) const;
  bool has_rows(std::size_t place, const RowAxisMap& map) const;
  std::uint32_t source_in_batches(std::size_t place, const RowAxisMap* map, std::uint32_t source,
                                  bool is_update);
  bool chooses_same(std::size_t place, const RowAxisMap& map, std::size_t axis) const;

  const PairedRuns& runs_;
  std::vector<std::uint32_t> golden_, actual_;  // of executions: the place of what it follows from
  std::vector<std::uint32_t> sources_;          // of pairs
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> inputs_;  // of pairs, by input
  // The first pair that put rows together, by rank: gradients of a step follow from it.
  std::map<std::uint32_t, std::uint32_t> first_;
  std::map<std::uint32_t, std::pair<std::int64_t, std::uint32_t>> updated_;  // step whose weights it changed
};

}  // namespace opdump::compare
