#include "compare/rules/rounding/rounding.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/text/text.h"
#include "compare/facts/arguments.h"
#include "compare/facts/operator_kind.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/rules/rounding/choice.h"
#include "compare/rules/rounding/recompute.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// How much larger than the differences of its inputs that of an output may be, both relative. Operators that
// divide by what may be tiny, as optimizers do, have no such limit in practice.
constexpr double kGain = 32, kDivisionGain = 1e5;
// The same of inputs that differ by much already.
constexpr double kAmplifiedGain = 4;
// The distance of tensors of which each run has other rows, or other places.
constexpr double kUnrelated = 1.5;
// What hardly exceeds its inputs was not made here: it may exceed the largest rounding, too, up to so many
// times. Of runs in two precisions, it may be kAmplifiedGain times its inputs: those of attention's backward
// pass are.
constexpr double kPassedOn = 1.1, kMostPassedOn = 2;

// What rounding grows to in the depth of a network, relative to the whole tensor. Of a run in another
// precision it is that of the coarser type.
double largest_rounding(const SlotComparison& slot, bool has_types) {
  double rtol = default_tolerance(slot.dtype).rtol;
  if (has_types) rtol = std::max(rtol, default_tolerance(slot.actual->dtype).rtol);
  return rtol > 1e-4 ? 8 * rtol : 100 * rtol;
}

// Did both runs compute the outputs right, from inputs that differ? Nothing where that is not known.
std::optional<bool> is_amplified(const OperatorComparison& op) {
  if (!op.shards.empty()) return std::nullopt;
  const auto golden = is_computed_right(*op.golden), actual = is_computed_right(*op.actual);
  return golden && actual ? std::optional(*golden && *actual) : std::nullopt;
}

// Whether a distance says how much two tensors differ: they have the same rows, and numbers that are no
// places.
bool has_distance(const SlotComparison& slot) {
  return slot.metrics && slot.golden != nullptr && model::is_floating(slot.golden->dtype);
}

// Did both runs choose other places, and right, each of its own numbers?
bool chooses_otherwise(const OperatorComparison& op) {
  const auto is_other_place = [](const SlotComparison& slot) {
    return side_of(slot) == model::Side::output && slot.metrics && is_difference(slot.verdict) &&
           !has_distance(slot);
  };
  return op.shards.empty() && std::ranges::any_of(op.slots, is_other_place) &&
         chooses_right(*op.golden) == true && chooses_right(*op.actual) == true;
}

// Where a framework or an engine computes at once what the other one takes several operators for, which round
// in between.
bool is_of_other_operators(const OperatorComparison& op) {
  const bool is_fused = !op.left_out.empty() && is_rewritten_by_engine(op.golden.get(), op.actual.get());
  return is_fused || (op.is_across && kind_of(op.golden->type).name != kind_of(op.actual->type).name);
}

// Beside the other inputs it is nothing: a gradient that is zero but for rounding, among all gradients.
bool is_lost_among_others(const OperatorComparison& op) {
  return op.verdict == Verdict::input_differs && kind_of(op.run().type).name == "concat";
}

bool may_be_excused(const OperatorComparison& op) {
  return op.cause.empty() && (op.verdict == Verdict::own_error || op.verdict == Verdict::inherited ||
                              op.verdict == Verdict::input_differs);
}

// How much larger than the differences of its inputs that of its outputs may be.
double gain_of(const OperatorComparison& op, bool reads_amplified) {
  return model::has_trait(op.run().type, model::Trait::divides) ? kDivisionGain
         : reads_amplified                                      ? kAmplifiedGain
                                                                : kGain;
}

void excuse_all(OperatorComparison& op) {
  for (SlotComparison& slot : op.slots)
    if (is_difference(slot.verdict)) slot.verdict = Verdict::rounding;
  op.verdict = Verdict::rounding;
}

}  // namespace

double RoundingJudge::limit_of(const SlotComparison& slot, const Distances& distances) const {
  const double made = std::max(largest_rounding(slot, has_types_), limit_);
  const double limit = std::max(made, std::min(passed_on_, kMostPassedOn * made));
  const bool is_passed_on =
      side_of(slot) == model::Side::output && distances.is_small_input && !distances.has_known();
  const double gain = has_types_ ? kAmplifiedGain : kPassedOn;
  return is_passed_on ? std::max(limit, std::min(gain * distances.input, kMostPassedOn * made)) : limit;
}

RoundingJudge::Distances RoundingJudge::measure(const OperatorComparison& op, bool is_open) const {
  Distances distances;
  if (op.other_rank) {
    distances.input = distances.fresh_input = op.other_rank->relative_l2;
    distances.is_small_input = distances.input <= kGain * noise_;
  }
  for (const SlotComparison& slot : op.slots) {  // inputs first
    const bool is_output = side_of(slot) == model::Side::output;
    const double distance = slot.metrics ? slot.metrics->relative_l2 : 0;
    if (!is_output && is_open && is_difference(slot.verdict) && flips_.contain(op, slot)) {
      distances.flipped_input = std::max(distances.flipped_input, has_distance(slot) ? distance : kUnrelated);
      continue;
    }
    const bool is_cancelled = !is_output && cancelled_.contain(op, slot);
    const bool is_known = is_cancelled || (!is_output && amplified_.contain(op, slot));
    distances.has_cancelled |= is_cancelled;
    distances.has_amplified |= is_known && !is_cancelled;
    double& largest = is_output ? distances.output : distances.input;
    largest = std::max(largest, distance);
    if (!is_output && !is_known) distances.fresh_input = std::max(distances.fresh_input, distance);
    if (!is_difference(slot.verdict) || is_known) continue;
    const bool is_fine =
        slot.metrics && distance <= limit_of(slot, distances) && (is_output || distance <= kGain * noise_);
    (is_output ? distances.is_small : distances.is_small_input) &= is_fine;
  }
  return distances;
}

bool RoundingJudge::excuse(OperatorComparison& op) {
  if (is_lost_among_others(op)) {
    excuse_all(op);
    return true;
  }
  const bool is_open = may_be_excused(op);
  if (is_open) raise_noise_of_modules(op);
  const Distances distances = measure(op, is_open);
  if (is_open && is_flip(op, distances)) {
    excuse_flip(op, distances.flipped_input == 0);
    return true;
  }
  const double input = distances.input, output = distances.output;
  const double gain = gain_of(op, distances.has_amplified && !distances.has_cancelled);
  const bool agree = op.verdict == Verdict::input_differs;  // the outputs
  const bool is_grown = distances.is_small && input > 0 && (agree || output <= gain * input);
  const bool is_from_known = distances.has_known() && output <= gain * input;
  const auto has_grown = [&](const SlotComparison& slot) {
    return slot.metrics && slot.metrics->relative_l2 <= std::min(gain * input, limit_of(slot, distances));
  };
  const bool is_candidate = is_open && distances.is_small_input;
  const std::optional<bool> amplified = is_candidate ? is_amplified(op) : std::nullopt;
  const bool is_excused = is_candidate && amplified.value_or(true) &&
                          (is_grown || is_from_known || (distances.is_small && is_of_other_operators(op)) ||
                           (amplified && distances.fresh_input <= kGain * noise_) ||
                           is_cancellation(op, distances.has_cancelled ? 0 : input, has_types_, has_grown));
  if (is_excused) excuse_slots(op, distances, is_grown, amplified);
  const bool has_only_grown = is_excused && is_grown && !distances.has_known();
  if (has_only_grown || op.verdict == Verdict::match) raise_noise(op, output);
  if (has_only_grown) passed_on_ = std::max(passed_on_, output);
  return distances.is_small_input;
}

void RoundingJudge::excuse_slots(OperatorComparison& op, const Distances& distances, bool is_grown,
                                 std::optional<bool> amplified) {
  for (SlotComparison& slot : op.slots) {
    if (!is_difference(slot.verdict)) continue;
    slot.verdict = Verdict::rounding;
    if (is_grown || side_of(slot) != model::Side::output) continue;
    const bool is_from_amplified = distances.has_amplified && slot.metrics &&
                                   slot.metrics->relative_l2 <= kAmplifiedGain * distances.input;
    (!distances.has_cancelled && (amplified || is_from_amplified) ? amplified_ : cancelled_).add(op, slot);
  }
  op.verdict = Verdict::rounding;
}

void RoundingJudge::raise_noise(const OperatorComparison& op, double output) {
  noise_ = std::max(noise_, output);
  for (const SlotComparison& slot : op.slots)
    if (side_of(slot) == model::Side::output && slot.metrics && slot.metrics->relative_l2 > 0)
      limit_ = std::max(limit_, largest_rounding(slot, has_types_));
}

void RoundingJudge::raise_noise_of_modules(const OperatorComparison& op) {
  for (const SlotComparison& slot : op.slots)
    if (side_of(slot) == model::Side::input && is_difference(slot.verdict) && slot.metrics &&
        slot.metrics->relative_l2 > noise_ && rewritten_.contain(slot))
      noise_ = slot.metrics->relative_l2;
}

bool RoundingJudge::is_flip(const OperatorComparison& op, const Distances& distances) const {
  const auto is_flipped = [&](const SlotComparison& slot) {
    return side_of(slot) != model::Side::output || !is_difference(slot.verdict) || !has_distance(slot) ||
           slot.metrics->relative_l2 <=
               std::max(limit_of(slot, distances), kAmplifiedGain * distances.flipped_input);
  };
  return distances.is_small_input && std::ranges::all_of(op.slots, is_flipped) &&
         (distances.flipped_input > 0 ? is_amplified(op).value_or(true) : chooses_otherwise(op));
}

void RoundingJudge::excuse_flip(OperatorComparison& op, bool chooses) {
  for (SlotComparison& slot : op.slots) {
    if (!is_difference(slot.verdict)) continue;
    slot.verdict = Verdict::rounding;
    if (side_of(slot) != model::Side::output) continue;
    flips_.add(op, slot);
    if (!chooses || has_distance(slot) || !slot.metrics) continue;
    if (flip_count_ == 0)
      first_flip_ = one_line(operator_name(op.run())) + " in step " + std::to_string(op.run().step);
    flip_count_ += slot.metrics->mismatch_count;
  }
  op.verdict = Verdict::rounding;
}

std::string RoundingJudge::describe_flips() const {
  if (flip_count_ == 0) return {};
  return counted(flip_count_, "choice") + " between numbers that are equal within rounding " +
         (flip_count_ == 1 ? "is another" : "are others") + " (first " + first_flip_ +
         "): what follows from that is no difference";
}

}  // namespace opdump::compare
