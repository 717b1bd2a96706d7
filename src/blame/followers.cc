#include "blame/followers.h"

#include <algorithm>

#include "base/text/text.h"
#include "blame/differences.h"
#include "blame/inputs/origin.h"
#include "compare/facts/arguments.h"
#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "compare/rules/accuse/accuse.h"

namespace opdump::blame {

using compare::OperatorComparison;

namespace {

auto find_single(std::span<const OperatorComparison> suspects, const OperatorComparison& single) {
  return std::ranges::find_if(suspects, [&](const OperatorComparison& op) {
    return !is_paired(op) && (op.golden != nullptr) == (single.golden != nullptr) &&
           are_one(op.run(), single.run());
  });
}

bool follows_from_a_size(const Finding& finding) {
  if (finding.cause == Cause::argument)
    return compare::kind_of(finding.op.run().type).role == compare::OperatorRole::makes;
  return finding.cause == Cause::input &&
         std::ranges::any_of(finding.op.slots, [&](const compare::SlotComparison& slot) {
           return compare::slot_name(slot) == finding.slot && slot.golden != nullptr &&
                  slot.actual != nullptr && slot.golden->shape != slot.actual->shape;
         });
}

}  // namespace

Charge charge_of(const compare::Accusation& accusation) {
  if (accusation.rule == compare::kOtherDropoutRule.name) return {.cause = Cause::argument};
  if (accusation.rule == compare::kOtherRepetition.name) return {.cause = Cause::random, .slot = "output.0"};
  if (accusation.rule != compare::kWrongRegion.name) return {};
  const bool is_random = compare::has_own_random_numbers(accusation.op.run().form.get());
  return {.cause = is_random ? Cause::random : Cause::sequence,
          .confidence = Confidence::suspect,
          .slot = "output.0"};
}

std::optional<std::uint32_t> leave_out_followers(std::span<const OperatorComparison> suspects,
                                                 const OperatorComparison& cause, const std::string& what,
                                                 BlameAnswer& answer) {
  const auto found = find_single(suspects, cause);
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
    answer.notes.push_back(counted(count, "finding", "follow") + " from " + what + ", and " +
                           inflect(count, "is", "are") + " left out");
  return place;
}

std::optional<std::uint32_t> leave_out_sizes(std::span<const OperatorComparison> suspects,
                                             const OperatorComparison& first_bad, BlameAnswer& answer) {
  const auto found = find_single(suspects, first_bad);
  if (is_paired(first_bad) || first_bad.cause.empty() || found == suspects.end()) return std::nullopt;
  const auto place = static_cast<std::uint32_t>(found - suspects.begin());
  const auto count = std::erase_if(answer.findings, [&](const Finding& finding) {
    return finding.executions.front() > place && follows_from_a_size(finding);
  });
  return count > 0 ? std::optional(place) : std::nullopt;
}

}  // namespace opdump::blame
