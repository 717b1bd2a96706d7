#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/rules/rounding/conditioning.h"
#include "compare/rules/same/same.h"

namespace opdump::compare {
namespace {

constexpr double kLeastScaled = 1e-2;    // of a factor, from 1
constexpr double kUnevenness = 1e-4;     // of a factor, among elements and tensors
constexpr double kUnevenTypes = 0.05;    // where one run computes in a type that rounds more
constexpr double kUnevenRoundoffs = 32;  // the same, of types that round more

double unevenness_of(const SlotComparison& slot, bool has_types) {
  return std::max(has_types ? kUnevenTypes : kUnevenness, kUnevenRoundoffs * roundoff(coarsest_dtype(slot)));
}

// Rounding in a coarser type comes through to what both runs compute in one type.
bool has_other_types(const Study& study) {
  return study.relation.units != nullptr ||
         std::ranges::any_of(study.systematic.types, [](const auto& types) {
           return roundoff(types.first.first) != roundoff(types.first.second);
         });
}

bool is_near(double factor, double other, double limit) { return std::abs(factor / other - 1) <= limit; }

// What all elements of golden's tensor are multiplied with in actual; nothing if that is not one number.
std::optional<double> factor_of(const SlotComparison& slot, bool has_types) {
  if (!slot.metrics || slot.from_statistics || slot.sharded != nullptr) return std::nullopt;
  const math::Metrics& metrics = *slot.metrics;
  const double factor = metrics.max_abs_actual / metrics.max_abs_golden,
               limit = unevenness_of(slot, has_types);
  const bool is_even = metrics.nan_mismatch_count == 0 && std::isfinite(factor) && factor > 0 &&
                       std::abs(factor - 1) > kLeastScaled &&
                       is_near(metrics.relative_l2, std::abs(factor - 1), limit) &&
                       1 - metrics.cosine * metrics.cosine <= limit * limit;
  return is_even ? std::optional(factor) : std::nullopt;
}

// A factor of the loss, as of a gradient scaler, is no difference if it is gone from the gradients when the
// parameters are updated. Until then its operators are excused.
class ScaledGradients : public RuleState {
 public:
  ScaledGradients(const Rule& rule, const Study& study) : rule_(rule), has_types_(has_other_types(study)) {}

  bool look(OperatorComparison& op, Ledger& ledger) override {
    if (op.golden == nullptr || op.actual == nullptr || !op.left_out.empty()) return false;
    const std::pair key(op.run().rank, op.run().step);
    if (phase_of(op.run()) == model::Phase::optimizer && updates(op)) {
      const auto scaled = steps_.find(key);
      if (scaled != steps_.end()) ++(is_fine(op.verdict) ? scaled->second.equal : scaled->second.other);
    }
    if (!is_difference(op.verdict) || !may_scale(op)) return false;
    const std::optional<double> factor = factor_of_all(op);
    if (!factor) return false;
    const auto [step, is_first] =
        steps_.try_emplace(key, Step{.factor = *factor, .first = op, .first_place = ledger.next_place()});
    step->second.places.push_back(ledger.next_place());
    step->second.has_gradient |= phase_of(op.run()) == model::Phase::backward && updates(op);
    if (has_bad_output(op.verdict) && !has_bad_output(step->second.first.verdict)) {
      step->second.first = op;
      step->second.first_place = ledger.next_place();
    }
    if (is_first) ledger.hold_rows();
    op.as_measured = op.verdict;
    op.verdict = Verdict::rounding;
    op.rule = rule_.name;
    for (SlotComparison& slot : op.slots) {
      if (!is_difference(slot.verdict)) continue;
      slot.verdict = Verdict::rounding;
      slot.rule = rule_.name;
      slot.reason = "actual is " + format_g(*factor) + " × golden";
    }
    return true;
  }

  void settle(Ledger& ledger) override {
    std::size_t count = 0;
    std::optional<double> factor;
    bool has_gradient = false;
    for (auto& [key, step] : steps_) {
      if (step.equal > 0 && step.other == 0) {
        ++count;
        if (!factor) factor = step.factor;
        has_gradient |= step.has_gradient;
      } else {
        ledger.take_back(step.first, step.first_place, step.places);
      }
    }
    ledger.release_rows();
    if (count > 0)
      ledger.note(rule_.name,
                  "in " + counted(count, "step") +
                      (has_gradient ? " the gradients of actual are " : " the loss of actual is ") +
                      format_g(*factor) + " × golden's, and the updates agree: no difference");
  }

 private:
  struct Step {
    double factor = 1;
    OperatorComparison first;  // with an output that differs, if one has; as measured
    std::size_t first_place = 0;
    std::vector<std::size_t> places = {};  // of the operators that are excused
    bool has_gradient = false;             // one of them is in the backward pass
    std::uint64_t equal = 0, other = 0;    // operators of the optimizer
  };

  // Whether a tensor that it makes counts: not a counter of steps, nor what is left out of other rows.
  static bool updates(const OperatorComparison& op) {
    return std::ranges::any_of(op.slots, [](const SlotComparison& slot) {
      return side_of(slot) == model::Side::output && slot.verdict != Verdict::skipped && slot.shape &&
             model::element_count(*slot.shape) != 1U;
    });
  }

  // In the backward pass, or of the loss, by another constant.
  static bool may_scale(const OperatorComparison& op) {
    const model::Phase phase = phase_of(op.run());
    return phase == model::Phase::backward || (phase == model::Phase::forward && !op.cause.empty());
  }

  // The one factor of all tensors that differ, which is that of the step.
  std::optional<double> factor_of_all(const OperatorComparison& op) const {
    const auto step = steps_.find({op.run().rank, op.run().step});
    std::optional<double> common;
    bool is_scaled = false;
    if (step != steps_.end()) common = step->second.factor;
    for (const SlotComparison& slot : op.slots) {
      // What the forward pass made differs by rounding.
      const bool is_input = side_of(slot) == model::Side::input;
      if (!is_difference(slot.verdict) ||
          (is_input && slot.metrics && slot.metrics->relative_l2 <= unevenness_of(slot, has_types_)))
        continue;
      const auto factor = factor_of(slot, has_types_);
      if (!factor || (common && !is_near(*factor, *common, unevenness_of(slot, has_types_))))
        return std::nullopt;
      if (!common) common = factor;
      is_scaled = true;
    }
    return is_scaled ? common : std::nullopt;
  }

  const Rule& rule_;
  bool has_types_;  // one run computes in other types than the other one, at least in parts
  std::map<std::pair<std::uint32_t, std::int64_t>, Step> steps_;  // by rank and step
};

}  // namespace

const Rule kScaledGradients{
    .name = "scaled-gradients",
    .sentence =
        "gradients that are golden's times one number, as behind a loss that is scaled, are no difference if "
        "the optimizer's operators agree",
    .stage = Stage::excuse,
    .applies = [](const Study& study) { return study.is_plain() && !study.by_gains; },
    .begin = begin_state<ScaledGradients>};

}  // namespace opdump::compare
