// How much a pair of executions differs, whatever the tolerances of the comparison say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compare/comparison.h"
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

// The first of operators that only one run has, where what follows them at once differs by more than
// rounding: a relative L2 of `rounding`, and `roundoffs` of the output's type. Where it does not, or not at
// once, they are another way to compute the same. `ops` are in the order of execution.
std::optional<std::uint32_t> find_sequence(std::span<const compare::OperatorComparison> ops, double rounding,
                                           double roundoffs);

}  // namespace opdump::blame
