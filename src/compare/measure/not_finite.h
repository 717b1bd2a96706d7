// NaN and infinities in what a dump has: how many a tensor has, and why an operator made them. Which operator
// made the first ones: model/not_finite_search.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compare/measure/statistics.h"
#include "dump/read/operator_run.h"
#include "model/not_finite_search.h"

namespace opdump::compare {

using model::NotFinite;
using model::NotFiniteSearch;

// Counts by recorded or computed statistics; returns nothing if they do not say.
std::optional<NotFinite> count_not_finite(const Columns& columns);
// Counts by the statistics of a slot if they count both, else by its elements.
std::optional<NotFinite> count_not_finite(const dump::Slot& slot);

// Whether an argument of the call is an infinity, as of masked_fill(x, mask, -inf). Null: nobody knows.
bool asks_for_infinity(const dump::CallForm* form);

// "3 NaN and 2 infinities"; "NaN and infinities" if they are not counted.
std::string describe(const NotFinite& found);

// What an execution read that made a NaN or infinity: "its inputs are finite: it made them".
std::string describe_making(const NotFiniteSearch::NotFiniteTensor& finding);

// The first output of an execution, in float16, that has the largest finite number although no input has it
// and no argument asks for it: kernels that saturate give it instead of an infinity. Null if there is none.
// Reads tensors.
const dump::Slot* saturated_output(const dump::OperatorRun& run);

// "output.0 has 65504, the largest number of float16, and its inputs do not: ..." of such a result.
std::string describe_saturated(const dump::Slot& output);

// Why an execution makes NaN of what it reads, if that is plain to see: "1 of 2 rows along axis 1 of its
// input.0 is -inf in all elements, whose softmax is 0/0". Else empty. Reads tensors.
std::string explain_nan(const dump::OperatorRun& run);

}  // namespace opdump::compare
