#include <algorithm>

#include "base/text/text.h"
#include "compare/facts/integer_operators.h"
#include "compare/key_slots.h"
#include "compare/pairs/quantised/quantisation.h"
#include "compare/rules/rounding/quantised_steps.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// What is still quantisation: steps, as root mean square and of one element; or else the relative L2 distance
// and how far above that of the inputs, because the step of a result is that of the operator that quantises
// it next.
constexpr double kSteps = Quantisation::kSteps, kMostSteps = 32, kDistance = 0.1, kGrowth = 4;

bool is_off(const SlotComparison& slot) {
  return slot.verdict == Verdict::own_error || slot.verdict == Verdict::inherited ||
         slot.verdict == Verdict::input_differs;
}

// Whether quantising explains that a slot differs; `most` is what inputs that are off explain.
bool is_explained(const SlotComparison& slot, double most) {
  if (!slot.metrics || slot.metrics->nan_mismatch_count > 0) return false;
  const math::Metrics& metrics = *slot.metrics;
  const double step = slot.quantisation_step;
  if (metrics.rmse <= kSteps * step && metrics.max_abs <= kMostSteps * step) return true;
  // What gives an input is judged itself.
  const bool is_grown = side_of(slot) == model::Side::input || metrics.relative_l2 <= most;
  return metrics.relative_l2 <= kDistance && is_grown;
}

void make_rounding(SlotComparison& slot) {
  slot.verdict = Verdict::rounding;
  const double step = slot.quantisation_step;
  slot.reason +=
      (slot.reason.empty() ? "" : "; ") +
      (step > 0 ? "quantised: off by " + format_g(slot.metrics->rmse / step) + " steps of " + format_g(step)
                : std::string("quantised before"));
}

// Makes rounding of differences of less than two steps (root mean square), and of what such inputs grow to.
// An operator whose inputs are rounded and whose result is not has an error of its own.
class QuantisedSteps : public RuleState {
 public:
  bool look(OperatorComparison& op, Ledger&) override;

 private:
  double farthest_ = 0;  // the largest distance that was made rounding, relative L2
};

bool QuantisedSteps::look(OperatorComparison& op, Ledger&) {
  if (!op.is_quantised || !op.cause.empty()) return false;
  const auto serves = [](const auto& run) { return run != nullptr && serves_integers(*run); };
  double most = serves(op.golden) || serves(op.actual) ? kDistance : 0;  // they quantise weights, too
  if (!op.left_out.empty()) most = std::max(most, kGrowth * farthest_);  // what it reads is not known
  const bool is_exponential = op.run().type == "Softmax";  // the largest of its numbers say nothing
  for (const SlotComparison& slot : op.slots)
    if (side_of(slot) == model::Side::input && slot.metrics)
      most = std::max(
          most, kGrowth * std::max(slot.metrics->relative_l2, is_exponential ? slot.metrics->max_abs : 0));
  const auto are_explained = [&](model::Side side) {
    return std::ranges::all_of(op.slots, [&](const SlotComparison& slot) {
      return side_of(slot) != side || !is_off(slot) || is_explained(slot, most);
    });
  };
  const bool are_inputs_explained = are_explained(model::Side::input);
  // What a dequantisation stands for may be several operators: then only its result counts, in steps.
  if (!are_inputs_explained) most = 0;
  const bool stands_in = op.golden && op.actual &&
                         model::has_trait(op.golden->type, model::Trait::dequantises) !=
                             model::has_trait(op.actual->type, model::Trait::dequantises);
  const bool are_outputs_explained = are_explained(model::Side::output);
  if (!are_inputs_explained && !(stands_in && are_outputs_explained)) return false;
  if (std::ranges::none_of(op.slots, is_off)) return false;
  for (SlotComparison& slot : op.slots) {
    if (!is_off(slot)) continue;
    if (side_of(slot) == model::Side::input || are_outputs_explained) {
      make_rounding(slot);
      farthest_ = std::max(farthest_, slot.metrics->relative_l2);
    } else {
      slot.verdict = Verdict::own_error;
    }
  }
  op.verdict = are_outputs_explained ? Verdict::rounding : Verdict::own_error;
  op.rule = kQuantisedSteps.name;
  return true;
}

}  // namespace

const Rule kQuantisedSteps{
    .name = "quantised-steps",
    .sentence = "of a quantised model, differences of less than two steps are no difference",
    .stage = Stage::excuse,
    .begin = begin_state<QuantisedSteps>};

}  // namespace opdump::compare
