// What follows from a difference that the comparison knows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "blame/answer.h"

namespace opdump::blame {

// This says as what an operator that the comparison accuses is found.
struct Charge {
  Cause cause = Cause::sequence;
  Confidence confidence = Confidence::certain;
  std::string slot = {};
};
Charge charge_of(const compare::Accusation& accusation);

// The place in `suspects` of `cause`, an operator of one run, if it is the difference: nothing that is
// certain comes before, and what follows differs beyond rounding. Findings that follow are removed from
// `answer`, unless an operator is wrong by itself; a note names `what` they follow from. After a missing
// gradient, which a backward pass that only one run has is (compare/rules/accuse/one_sided.h), weights stay
// as they are, and an optimizer has fewer of them.
std::optional<std::uint32_t> leave_out_followers(std::span<const compare::OperatorComparison> suspects,
                                                 const compare::OperatorComparison& cause,
                                                 const std::string& what, BlameAnswer& answer);

// The place in `suspects` of `first_bad` of a comparison, if only one run has it, something reads what it
// makes, and sizes follow from it: tensors of another shape, and what arange and the like were called with.
// Such findings are removed from `answer`.
std::optional<std::uint32_t> leave_out_sizes(std::span<const compare::OperatorComparison> suspects,
                                             const compare::OperatorComparison& first_bad,
                                             BlameAnswer& answer);

}  // namespace opdump::blame
