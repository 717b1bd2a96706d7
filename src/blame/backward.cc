#include "blame/backward.h"

#include <algorithm>

#include "base/text/text.h"
#include "blame/differences.h"
#include "blame/origin.h"

namespace opdump::blame {

using compare::OperatorComparison;

std::optional<std::uint32_t> settle_one_sided_backward(std::span<const OperatorComparison> suspects,
                                                       const OperatorComparison& missing,
                                                       BlameAnswer& answer) {
  const auto found = std::ranges::find_if(suspects, [&](const OperatorComparison& op) {
    return !is_paired(op) && (op.golden != nullptr) == (missing.golden != nullptr) &&
           are_one(op.run(), missing.run());
  });
  const auto place = static_cast<std::uint32_t>(found - suspects.begin());
  const bool has_earlier = std::ranges::any_of(answer.findings, [&](const Finding& f) {
    return f.confidence == Confidence::certain && f.executions.front() < place;
  });
  const bool is_followed = std::any_of(found, suspects.end(), [](const OperatorComparison& op) {
    return is_paired(op) && makes_beyond_rounding(op);
  });
  if (has_earlier || !is_followed) return std::nullopt;
  const auto follows = [&](const Finding& f) {
    return !f.error && f.cause != Cause::argument && f.executions.front() > place;
  };
  if (const std::size_t count = std::erase_if(answer.findings, follows); count > 0)
    answer.notes.push_back(counted(count, "finding") + (count == 1 ? " follows" : " follow") +
                           " from the missing gradient, and " + (count == 1 ? "is" : "are") + " left out");
  return place;
}

}  // namespace opdump::blame
