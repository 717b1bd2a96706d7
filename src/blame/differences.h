// How much a pair of executions differs, whatever the tolerances of the comparison say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compare/comparison.h"
#include "dump/read/operator_run.h"
#include "model/operator.h"

namespace opdump::blame {

bool is_paired(const compare::OperatorComparison& op);
// Says whether only one run has the operator and the absence in the other one means something.
bool is_certainly_single(const compare::OperatorComparison& op);

// Says whether a slot differs in any bit; in a quantised model, by more than its steps.
bool differs(const compare::SlotComparison& slot);
// Whether actual has it, and golden has not the same.
bool is_only_in_actual(const compare::SlotComparison& slot);
// Says whether any slot of that side differs.
bool differs(const compare::OperatorComparison& op, model::Side side);

// Says whether its inputs are all recorded and the same (in another framework or engine but for rounding),
// and its output is not.
bool has_own_error(const compare::OperatorComparison& op);

// Says whether a pair has an error of its own because its operator or its arguments are others, as in another
// framework or engine. That holds if both runs are right by themselves.
bool computes_otherwise(const compare::OperatorComparison& op);
std::string why_otherwise(const compare::OperatorComparison& op);

// Counts the elements of all its tensors.
std::uint64_t element_count_of(const compare::OperatorComparison& op);

// Returns the norm of actual's elements; NaN if it is not known.
double norm_of(const compare::SlotComparison& slot);

// Returns the relative L2 of the worst slot of that side; 0 if there are only statistics.
double distance_of(const compare::OperatorComparison& op, model::Side side = model::Side::output);

// Describes the first output that has another shape, so that no distance is known: "it is (2,4) in golden and
// (3,4) in actual". Empty if none has.
std::string why_another_shape(const compare::OperatorComparison& op);

// "it is float32 in golden and bfloat16 in actual", of numbers that it makes; empty if their types are the
// same, or the runs differ in what chooses them, as autocast.
std::string why_another_type(const compare::OperatorComparison& op);

// What it reads hardly differs, what it makes much: kernels that are right do that rarely, and both runs may
// have the same wrong one.
bool amplifies(const compare::OperatorComparison& op);

// Another order of operators may change a result by this much, in relative L2.
inline constexpr double kLargestRounding = 1e-4;
// Says whether a slot differs by more than that, than 8 roundoffs of the coarser type, and than what the
// comparison takes for rounding. What differs and cannot be measured, as another shape, is none.
bool is_beyond_rounding(const compare::SlotComparison& slot);

// Says whether any output is beyond rounding.
bool makes_beyond_rounding(const compare::OperatorComparison& op);

// Returns the name of the first output that differs, "output.0"; empty if none does.
std::string output_name(const compare::OperatorComparison& op);

// Explains integers of two types, where the same numbers give others, as 256 has no place in uint8: both
// operators are right by themselves. Empty where it is not so.
std::string why_another_integer(const compare::OperatorComparison& op);

// Explains an operator that makes NaN or infinity in one run only, of inputs that are alike in that: "3 of 12
// elements are NaN or inf on one side: float16 holds no number above 65504". Empty where it is not so.
std::string why_not_finite(const compare::OperatorComparison& op);

// Explains by what the outputs of a random operator differ.
std::string why_random(const compare::OperatorComparison& op);

// A tensor in two precisions, or one that somebody computed outside and rounded otherwise.
bool is_rounded(const compare::SlotComparison& slot);
// The two are as near as two ways to compute a tensor leave them, whatever the types: an operator in one run,
// numbers of the program in the other.
bool is_recomputed(const compare::SlotComparison& slot);
// Says whether the tensor is rounded as one that was of `type` for a while.
bool is_rounded(const compare::SlotComparison& slot, model::DType type);

}  // namespace opdump::blame
