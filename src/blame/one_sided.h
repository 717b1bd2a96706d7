// What follows from operators that only one run has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "blame/answer.h"

namespace opdump::blame {

// Of a backward pass (compare/runs/one_sided.h): the place in `suspects` of its first operator, `missing`, if
// it is the difference: nothing that is certain comes before, and what follows differs beyond rounding. Then
// the backward pass goes on without a gradient, weights stay as they are, and an optimizer has fewer of them:
// findings that follow are removed from `answer`, unless an operator is wrong by itself.
std::optional<std::uint32_t> settle_one_sided_backward(std::span<const compare::OperatorComparison> suspects,
                                                       const compare::OperatorComparison& missing,
                                                       BlameAnswer& answer);

// The place in `suspects` of `first_bad` of a comparison, if only one run has it, something reads what it
// makes, and sizes follow from it: tensors of another shape, and what arange and the like were called with.
// Such findings are removed from `answer`.
std::optional<std::uint32_t> settle_sizes(std::span<const compare::OperatorComparison> suspects,
                                          const compare::OperatorComparison& first_bad, BlameAnswer& answer);

}  // namespace opdump::blame
