#include "blame/gains/gain_search.h"

#include <algorithm>
#include <utility>

#include "base/text/text.h"
#include "blame/differences.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/rules/gains/usual_gains.h"
#include "compare/rules/same/equivalence.h"
#include "model/operator_traits.h"

namespace opdump::blame {
namespace {

using compare::Gain;
using compare::GainOf;
using compare::OperatorComparison;

constexpr double kLeastLimit = 3;  // of a gain

std::string describe(const Gain& gain, double excess) {
  return compare::describe_gain(gain, excess) +
         (gain.of == GainOf::outputs ? ": the operator, or a weight or data that it reads" : "");
}

// An operator that only one run has, and that is followed by the one at `i`.
std::optional<std::uint32_t> single_before(std::span<const OperatorComparison> ops, std::uint32_t i,
                                           const std::set<std::uint32_t>& before_equal) {
  std::optional<std::uint32_t> first;
  for (std::uint32_t j = i; j-- > 0 && !is_paired(ops[j]) && !before_equal.contains(j);)
    if (ops[j].left_out.empty() && !model::has_trait(ops[j].run().type, model::Trait::copies)) first = j;
  return first;
}

}  // namespace

bool GainSearch::add(const OperatorComparison& op, std::uint32_t place) {
  has_inputs_ |= std::ranges::any_of(op.slots, [](const compare::SlotComparison& slot) {
    return compare::side_of(slot) == model::Side::input && slot.metrics && !slot.from_statistics;
  });
  if (has_inputs_) return false;
  std::vector<Gain> gains = meter_.measure(op);
  if (!first_ && is_paired(op) && differs(op, model::Side::output)) first_ = place;
  std::erase_if(gains, [](const Gain& gain) { return std::max(gain.whole, gain.peak) <= kLeastLimit; });
  if (gains.empty()) return false;
  gains_[place] = std::move(gains);
  return true;
}

Result<std::optional<GainSearch::Found>> GainSearch::look(std::span<const OperatorComparison> ops,
                                                          std::uint32_t i,
                                                          const std::set<std::uint32_t>& before_equal,
                                                          const Replay& replay) {
  const OperatorComparison& op = ops[i];
  if (!limits_) {
    const auto reply = replay(make_gains_request());
    if (reply) {
      OPDUMP_TRY(limits_, compare::GainTable::parse_limits(*reply));
    } else if (reply.error().code() == Code::unsupported) {
      limits_ = compare::usual_gains();
    } else {
      return reply.error();
    }
  }
  std::optional<Found> found;
  double worst = 1;
  const auto gains = gains_.find(i);
  for (const Gain& gain : gains == gains_.end() ? std::vector<Gain>() : gains->second) {
    const double excess = limits_->excess(op.run().type, gain);
    if (excess <= worst) continue;
    const bool is_data = gain.of == GainOf::data;
    found = Found{i, is_data ? Cause::input : Cause::unknown, gain.slot, describe(gain, excess)};
    if (is_data) break;  // which explains the outputs
    worst = excess;
  }
  if (!found && first_ == i && are_alike_ && op.verdict == compare::Verdict::own_error) {
    const compare::SlotComparison* slot = compare::first_difference(op, model::Side::output);
    if (slot != nullptr && slot->golden != nullptr && slot->actual != nullptr &&
        slot->golden->dtype == slot->actual->dtype)
      found = Found{i, Cause::unknown, compare::slot_name(*slot),
                    "it is the first one that differs, and the runs are of the same environment"};
  }
  if (!found) return found;
  if (found->cause != Cause::input && model::has_trait(op.run().type, model::Trait::random)) {
    found->cause = Cause::random;
    found->why = why_random(op);
  } else if (const auto single = single_before(ops, i, before_equal)) {
    found = Found{*single,
                  Cause::sequence,
                  {},
                  std::string("only in ") + (ops[*single].golden != nullptr ? "golden" : "actual") +
                      ", and what follows differs"};
  }
  return found;
}

}  // namespace opdump::blame
