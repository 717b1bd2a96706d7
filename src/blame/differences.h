// How much a pair of executions differs, whatever the tolerances of the comparison say.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "compare/comparison.h"
#include "dump/read/operator_run.h"
#include "model/operator.h"

namespace opdump::blame {

bool is_paired(const compare::OperatorComparison& op);

// Bit by bit, where there are tensors; in a quantised model, by more than its steps.
bool differs(const compare::SlotComparison& slot);
// Any slot of that side.
bool differs(const compare::OperatorComparison& op, model::Side side);

// Relative L2 of the worst slot of that side; 0 if there are only statistics.
double distance_of(const compare::OperatorComparison& op, model::Side side = model::Side::output);

// What it reads hardly differs, what it makes much: kernels that are right do that rarely, and both runs may
// have the same wrong one.
bool amplifies(const compare::OperatorComparison& op);

// Unit roundoff of the coarsest output.
double roundoff(const compare::OperatorComparison& op);

// A tensor in two precisions, or one that somebody computed outside and rounded otherwise.
bool is_rounded(const compare::SlotComparison& slot);

// Modules in which each run has operators of its own, in one step: another way to compute the same, as long
// as what follows is the same.
class RewrittenModules {
 public:
  explicit RewrittenModules(std::span<const compare::OperatorComparison> ops);
  bool contains(const dump::OperatorRun& run) const { return places_.contains(place_of(run)); }

 private:
  using Place = std::tuple<std::uint32_t, std::int64_t, std::string>;  // rank, step and module
  static Place place_of(const dump::OperatorRun& run);
  std::set<Place> places_;
};

// The first of operators that only one run has, where what follows them at once differs by more than
// rounding: a relative L2 of `rounding`, and `roundoffs` of the output's type. Where it does not, or not at
// once, they are another way to compute the same; in rewritten modules, what follows the module counts, if
// anything does. `ops` are in the order of execution; operators without a difference follow `before_equal`.
std::optional<std::uint32_t> find_sequence(std::span<const compare::OperatorComparison> ops,
                                           const RewrittenModules& rewritten,
                                           const std::set<std::uint32_t>& before_equal, double rounding,
                                           double roundoffs);

}  // namespace opdump::blame
