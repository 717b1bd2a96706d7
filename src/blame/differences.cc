#include "blame/differences.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "compare/facts/arguments.h"
#include "compare/key_slots.h"
#include "compare/measure/measure.h"
#include "compare/names.h"
#include "compare/rules/rounding/conditioning.h"

namespace opdump::blame {

using compare::OperatorComparison;
using compare::SlotComparison;
using compare::Verdict;

namespace {

// Weights and data may differ by this: another machine rounds torch.randn by some units otherwise.
constexpr double kInputRoundoffs = 32;

// The smallest numbers of float16 have fewer digits, and converters of models write this one for those below.
constexpr double kSmallestHalf = 1e-7;

bool is_rounded_to(const SlotComparison& slot, model::DType type) {
  const double u = 1.01 * compare::roundoff(type);
  if (slot.metrics->max_rel <= u || type != model::DType::float16) return slot.metrics->max_rel <= u;
  SlotComparison again = slot;
  compare::CompareOptions options;
  options.rtol = u;
  options.atol = kSmallestHalf;
  compare::measure_slot(again, options, 1);
  return again.metrics && again.metrics->mismatch_count == 0;
}

// Two frameworks, or a graph as written and as an engine executes it: both round otherwise.
bool are_of_other_operators(const OperatorComparison& op) {
  return op.is_across || compare::is_rewritten_by_engine(op.golden.get(), op.actual.get());
}

}  // namespace

bool is_paired(const OperatorComparison& op) { return op.golden != nullptr && op.actual != nullptr; }

bool is_certainly_single(const OperatorComparison& op) {
  return !is_paired(op) && op.left_out.empty() && !op.may_be_unseen;
}

bool differs(const SlotComparison& slot) {
  if (slot.golden == nullptr || slot.actual == nullptr) return false;
  if (slot.verdict == Verdict::skipped) return false;  // as what nothing reads before it is replaced
  if (slot.quantisation_step > 0 && compare::is_fine(slot.verdict)) return false;
  if (slot.metrics) return slot.metrics->max_abs > 0 || slot.metrics->nan_mismatch_count > 0;
  return slot.verdict != Verdict::match && slot.verdict != Verdict::skipped &&
         slot.verdict != Verdict::unreadable;
}

bool is_only_in_actual(const SlotComparison& slot) {
  return slot.actual != nullptr && (slot.golden == nullptr || differs(slot));
}

bool differs(const OperatorComparison& op, model::Side side) {
  return std::ranges::any_of(
      op.slots, [&](const SlotComparison& slot) { return compare::side_of(slot) == side && differs(slot); });
}

bool has_own_error(const OperatorComparison& op) {
  return op.verdict == Verdict::own_error && std::ranges::none_of(op.slots, [&](const SlotComparison& slot) {
           const bool is_open = slot.golden != nullptr && !slot.golden->has_data();  // a list, a resource
           const bool is_near =
               are_of_other_operators(op) || (op.is_quantised && compare::is_fine(slot.verdict));
           return compare::side_of(slot) == model::Side::input && (is_open || (!is_near && differs(slot)));
         });
}

bool computes_otherwise(const OperatorComparison& op) {
  return (are_of_other_operators(op) || !op.left_out.empty()) && has_own_error(op);
}

std::string why_otherwise(const OperatorComparison& op) {
  return (op.left_out.empty() ? "its inputs match" : op.left_out) +
         ", and each run's output is right for what it executes, in actual " +
         compare::one_line(compare::operator_name(*op.actual)) + " (" + compare::one_line(op.actual->type) +
         "): other arguments, or another operator";
}

std::uint64_t element_count_of(const OperatorComparison& op) {
  std::uint64_t count = 0;
  for (const SlotComparison& slot : op.slots)
    if (slot.shape) count += model::element_count(*slot.shape).value_or(0);
  return count;
}

double norm_of(const compare::SlotComparison& slot) {
  const bool is_of_elements =
      slot.metrics && !slot.sharded && !slot.is_quantised && slot.quantisation_step == 0;
  return is_of_elements ? slot.metrics->actual_norm : std::numeric_limits<double>::quiet_NaN();
}

double distance_of(const OperatorComparison& op, model::Side side) {
  double worst = 0;
  for (const SlotComparison& slot : op.slots)
    if (compare::side_of(slot) == side && slot.metrics) worst = std::max(worst, slot.metrics->relative_l2);
  return worst;
}

std::string why_another_shape(const OperatorComparison& op) {
  for (const SlotComparison& slot : op.slots)
    if (compare::side_of(slot) == model::Side::output && slot.golden != nullptr && slot.actual != nullptr &&
        !slot.metrics && !compare::is_fine(slot.verdict) && slot.golden->shape && slot.actual->shape &&
        *slot.golden->shape != *slot.actual->shape)
      return "it is " + model::format_shape(*slot.golden->shape) + " in golden and " +
             model::format_shape(*slot.actual->shape) + " in actual";
  return {};
}

std::string why_another_type(const OperatorComparison& op) {
  if (!is_paired(op) || op.golden->form == nullptr || op.actual->form == nullptr ||
      op.golden->form->state != op.actual->form->state)
    return {};
  for (const SlotComparison& slot : op.slots)
    if (compare::side_of(slot) == model::Side::output && slot.golden != nullptr && slot.actual != nullptr &&
        slot.golden->dtype != slot.actual->dtype && model::is_floating(slot.golden->dtype) &&
        model::is_floating(slot.actual->dtype))
      return "it is " + std::string(model::dtype_info(slot.golden->dtype).name) + " in golden and " +
             std::string(model::dtype_info(slot.actual->dtype).name) + " in actual";
  return {};
}

bool amplifies(const OperatorComparison& op) {
  constexpr double kMuch = 100;
  const double read = distance_of(op, model::Side::input);
  return read > 0 && !(distance_of(op) <= kMuch * read);
}

bool is_beyond_rounding(const SlotComparison& slot) {
  constexpr double kRoundoffs = 8;
  if (compare::is_fine(slot.verdict)) return false;
  if (!slot.metrics) return compare::is_difference(slot.verdict);  // another shape, statistics: no rounding
  const double u = compare::roundoff(compare::coarsest_dtype(slot));
  return slot.metrics->relative_l2 >= std::max(kLargestRounding, kRoundoffs * u);
}

bool makes_beyond_rounding(const OperatorComparison& op) {
  return std::ranges::any_of(op.slots, [](const SlotComparison& slot) {
    return compare::side_of(slot) == model::Side::output && is_beyond_rounding(slot);
  });
}

std::string output_name(const OperatorComparison& op) {
  const auto found = std::ranges::find_if(op.slots, [](const SlotComparison& slot) {
    return compare::side_of(slot) == model::Side::output && differs(slot);
  });
  return found == op.slots.end() ? std::string() : compare::slot_name(*found);
}

std::string why_another_integer(const OperatorComparison& op) {
  const auto is_integer = [](model::DType type) {
    const model::DTypeKind kind = model::dtype_info(type).kind;
    return kind == model::DTypeKind::signed_integer || kind == model::DTypeKind::unsigned_integer;
  };
  std::string why;
  for (const SlotComparison& slot : op.slots) {
    if (slot.golden == nullptr || slot.actual == nullptr) return {};
    const model::DType golden = slot.golden->dtype, actual = slot.actual->dtype;
    const bool is_input = compare::side_of(slot) == model::Side::input;
    if (!is_integer(golden) || !is_integer(actual) || (is_input && differs(slot))) return {};
    if (!is_input && golden != actual && slot.metrics && differs(slot) && why.empty())
      why = "integers are " + std::string(model::dtype_info(golden).name) + " in golden and " +
            std::string(model::dtype_info(actual).name) + " in actual; both read the same numbers, and " +
            std::to_string(slot.metrics->mismatch_count) + " of " + std::to_string(slot.metrics->count) +
            " results differ";
  }
  return why;
}

std::string why_not_finite(const OperatorComparison& op) {
  const auto has_others = [](const SlotComparison& slot) {
    return slot.metrics && slot.metrics->nan_mismatch_count > 0;
  };
  std::string why;
  // A mask that is filled with -inf in one run, and with -1e9 in the other.
  if (op.golden->form != nullptr && op.actual->form != nullptr &&
      op.golden->form->arguments != op.actual->form->arguments)
    return {};
  for (const SlotComparison& slot : op.slots) {
    if (!has_others(slot)) continue;
    if (compare::side_of(slot) == model::Side::input) return {};
    if (why.empty())
      why = std::to_string(slot.metrics->nan_mismatch_count) + " of " + std::to_string(slot.metrics->count) +
            " elements are NaN or inf on one side only";
    for (const auto& [type, largest] :
         {std::pair(slot.golden->dtype, "golden"), std::pair(slot.actual->dtype, "actual")})
      if (type == model::DType::float16 && slot.golden->dtype != slot.actual->dtype)
        return why + ": float16, which " + largest + " has, holds no number above 65504";
  }
  return why;
}

std::string why_random(const OperatorComparison& op) {
  const std::string generator =
      compare::find_state_difference(op.golden->form.get(), op.actual->form.get()).generator;
  if (!generator.empty()) return "it is random, and " + generator;
  return compare::draw_the_same(op.golden->form.get(), op.actual->form.get())
             ? "it is random, and the generators of both runs are in the same state"
             : "it is random: another seed?";
}

bool is_rounded(const SlotComparison& slot) {
  const model::DType golden = slot.golden->dtype, actual = slot.actual->dtype;
  if (!slot.metrics || slot.metrics->nan_mismatch_count > 0) return false;
  const bool is_golden_coarser = compare::roundoff(golden) > compare::roundoff(actual);
  return golden == actual ? slot.metrics->relative_l2 <= kInputRoundoffs * compare::roundoff(golden)
                          : is_rounded_to(slot, is_golden_coarser ? golden : actual);
}

bool is_recomputed(const SlotComparison& slot) {
  const double u = std::max(compare::roundoff(slot.golden->dtype), compare::roundoff(slot.actual->dtype));
  return slot.metrics && slot.metrics->nan_mismatch_count == 0 &&
         slot.metrics->relative_l2 <= kInputRoundoffs * u;
}

bool is_rounded(const SlotComparison& slot, model::DType type) {
  if (!slot.metrics || slot.metrics->nan_mismatch_count > 0) return false;
  return is_rounded(slot) || is_rounded_to(slot, type);
}

}  // namespace opdump::blame
