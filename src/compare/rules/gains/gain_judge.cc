#include "compare/rules/gains/gain_judge.h"

#include <algorithm>
#include <span>
#include <utility>

#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/rules/gains/usual_gains.h"
#include "compare/rules/rounding/conditioning.h"

namespace opdump::compare {
namespace {

// Where all that was made before agrees within the tolerance, there is hardly a difference to enlarge: then
// the limit of statistics has no reserve. In 16 bits the tolerance is wide.
constexpr double kStrict = 6, kFineRoundoff = 0x1p-24;
constexpr double kLargestNoise = 0.05;  // relative: hardly a digit agrees

bool has_input_tensors(const dump::Runs& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const dump::Slot& slot : runs.slots(i))
      if (slot.side == model::Side::input && !slot.file.empty()) return true;
  return false;
}

bool is_unexplained(Verdict verdict) {
  return verdict == Verdict::own_error || verdict == Verdict::inherited || verdict == Verdict::input_differs;
}

// Bit by bit, where there are tensors.
bool differs(const SlotComparison& slot) {
  if (slot.golden == nullptr || slot.actual == nullptr) return false;
  if (slot.metrics) return slot.metrics->max_abs > 0 || slot.metrics->nan_mismatch_count > 0;
  return is_unexplained(slot.verdict);
}

bool has_output_that_differs(const OperatorComparison& op) {
  return std::ranges::any_of(op.slots, [](const SlotComparison& slot) {
    return side_of(slot) == model::Side::output && differs(slot);
  });
}

// Of an operator that both runs have; that another verdict explains nothing.
bool is_open(const OperatorComparison& op) {
  return is_unexplained(op.verdict) && op.cause.empty() && op.left_out.empty();
}

// Types that round otherwise explain any first difference.
bool has_one_type(const OperatorComparison& op) {
  const SlotComparison* slot = first_difference(op, model::Side::output);
  return slot != nullptr && slot->golden != nullptr && slot->actual != nullptr &&
         slot->golden->dtype == slot->actual->dtype;
}

// Whether all that has no gain may differ.
bool is_usual_beside(const OperatorComparison& op, bool differed_before) {
  for (const SlotComparison& slot : op.slots) {
    if (slot.verdict == Verdict::not_comparable) return false;
    // Masks and places have no gain: what they are made of differs, or they are wrong.
    if (is_unexplained(slot.verdict) && !is_measurable(slot) &&
        (model::is_floating(slot.dtype) || !differed_before))
      return false;
  }
  return true;
}

void set_verdict(OperatorComparison& op, Verdict verdict, Verdict of_inputs) {
  for (SlotComparison& slot : op.slots)
    if (is_unexplained(slot.verdict))
      slot.verdict = side_of(slot) == model::Side::output ? verdict : of_inputs;
  op.as_measured = std::exchange(op.verdict, verdict);
}

}  // namespace

// Outputs that are numbers and have no gain.
void GainJudge::note_uncertain(const OperatorComparison& op, std::span<const Gain> gains) {
  const auto is_number = [](const SlotComparison& slot) {
    return side_of(slot) == model::Side::output && slot.golden != nullptr && slot.actual != nullptr &&
           model::is_floating(slot.dtype) && slot.shape;
  };
  const auto of_output = std::ranges::count_if(gains, [](const Gain& g) { return g.of != GainOf::data; });
  if (of_output == std::ranges::count_if(op.slots, is_number)) return;
  for (const SlotComparison& slot : op.slots) {
    if (!is_number(slot) || !is_measurable(slot)) continue;
    const std::string name = slot_name(slot);
    if (std::ranges::none_of(gains, [&](const Gain& gain) { return gain.slot == name; }))
      uncertain_.insert(model::element_count(*slot.shape).value_or(0));
  }
}

void GainJudge::note_excess(const OperatorComparison& op, std::span<const Gain> gains) {
  double worst = 1;
  for (const Gain& gain : gains) {
    const bool is_strict = rounding_count_ == 0 && op.verdict == Verdict::own_error &&
                           gain.of == GainOf::statistics && roundoff(gain.dtype) <= kFineRoundoff;
    const double excess = usual_gains().excess(op.run().type, gain) * (is_strict ? kStrict : 1);
    if (excess <= worst) continue;
    excess_ = gain.slot + ": " + describe_gain(gain, excess);
    if (gain.of == GainOf::data) break;  // which explains the outputs
    worst = excess;
  }
}

void GainJudge::set_rounding(OperatorComparison& op, std::span<const Gain> gains) {
  set_verdict(op, Verdict::rounding, Verdict::rounding);
  ++rounding_count_;
  for (const Gain& gain : gains)
    if (gain.of != GainOf::data) noise_ = std::max(noise_, std::min(gain.distance, kLargestNoise));
}

bool have_input_tensors(const dump::Runs& golden, const dump::Runs& actual) {
  return has_input_tensors(golden) && has_input_tensors(actual);
}

void GainJudge::judge(OperatorComparison& op) {
  if (op.run().rank != std::exchange(rank_, op.run().rank)) has_difference_ = has_bad_ = false;
  const bool differed_before = meter_.has_difference();
  const std::vector<Gain> gains = meter_.measure(op);
  const bool is_paired = op.golden != nullptr && op.actual != nullptr;
  const bool is_first = !has_difference_ && has_output_that_differs(op);
  has_difference_ |= is_first;
  excess_.clear();
  if (is_paired) note_uncertain(op, gains);
  if (!is_open(op)) {
    has_bad_ |= has_bad_output(op.verdict);
    return;
  }
  note_excess(op, gains);
  const bool must_agree = is_first && are_alike_ && has_one_type(op);
  if (must_agree || !excess_.empty() || !is_usual_beside(op, differed_before))
    has_bad_ = true;
  else if (!has_bad_)
    set_rounding(op, gains);
  else if (op.verdict == Verdict::own_error)
    set_verdict(op, Verdict::inherited, Verdict::input_differs);
}

}  // namespace opdump::compare
