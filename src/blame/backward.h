// What follows from a backward pass that only one run has (compare/runs/one_sided.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "blame/answer.h"

namespace opdump::blame {

// The place in `suspects` of its first operator, `missing`, if it is the difference: nothing that is certain
// comes before, and what follows differs beyond rounding. Then the backward pass goes on without a gradient,
// weights stay as they are, and an optimizer has fewer of them: findings that follow are removed from
// `answer`, unless an operator is wrong by itself.
std::optional<std::uint32_t> settle_one_sided_backward(std::span<const compare::OperatorComparison> suspects,
                                                       const compare::OperatorComparison& missing,
                                                       BlameAnswer& answer);

}  // namespace opdump::blame
