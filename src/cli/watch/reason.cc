#include "cli/watch/reason.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/text/text.h"
#include "compare/measure/not_finite.h"
#include "compare/names.h"
#include "model/dtype.h"
#include "model/operator_traits.h"

namespace opdump::cli {
namespace {

using Advice = std::vector<std::string>;

bool is_half(model::DType dtype) { return dtype == model::DType::float16; }

std::string name_of(model::DType dtype) { return std::string(model::dtype_info(dtype).name); }

// "log" of "log_" and "_foreach_log".
std::string plain_type(std::string_view type) {
  std::string plain = to_lower(type);
  if (plain.starts_with("_foreach_")) plain.erase(0, std::string_view("_foreach_").size());
  while (plain.ends_with('_')) plain.pop_back();
  return plain;
}

Advice advice_on_overflow(const SlotExtent& made, bool is_backward) {
  if (is_half(made.dtype) && is_backward)
    return {"float16 ends at 65504: scale the loss with torch.amp.GradScaler, which finds a scale that fits",
            "bfloat16 has the range of float32, and needs no scale"};
  if (is_half(made.dtype))
    return {
        "float16 ends at 65504: bfloat16 has the range of float32, and torch.autocast takes it as dtype",
        "keep this operator in float32: .float() before it, inside of torch.autocast(..., enabled=False)"};
  return {"the numbers diverge: a lower learning rate, a warm-up, or torch.nn.utils.clip_grad_norm_"};
}

const Advice kOfLog{"add a small number, log(x + 1e-8), or clamp: x.clamp_min(1e-8).log()",
                    "of probabilities: log_softmax of the logits instead of the log of a softmax, and "
                    "BCEWithLogitsLoss instead of BCELoss"};
const Advice kOfRoot{"clamp before the root: x.clamp_min(0)",
                     "the gradient of a root at 0 is infinite: sqrt(x + 1e-12)"};
const Advice kOfDivision{
    "add a small number to the divisor, or clamp it",
    "torch.where behind a division hides its NaN, and not that of its gradient: choose the "
    "divisor first, then divide"};
const Advice kOfSoftmax{"let every row see at least one element: a padded query may see itself",
                        "mask with torch.finfo(dtype).min instead of -inf: such a row is uniform, and its "
                        "gradient finite"};
const Advice kOfExp{"subtract the largest element first: softmax, log_softmax and logsumexp do so",
                    "clamp the argument"};
const Advice kOfVariance{"take unbiased=False (correction=0), or more than one element"};

const SlotExtent* find_input(const std::vector<SlotExtent>& extents, std::uint32_t index) {
  for (const SlotExtent& extent : extents)
    if (extent.side == model::Side::input && extent.index == index) return &extent;
  return nullptr;
}

// What an operator of one input does not take.
struct Domain {
  std::string_view type, call;  // "log", "the logarithm of"
  double lowest, highest;
  bool is_open;  // the bounds themselves give an infinity
  const Advice& advice;
};

const std::vector<Domain>& domains() {
  static const std::vector<Domain> all{{"log", "log", 0, INFINITY, true, kOfLog},
                                       {"log2", "log2", 0, INFINITY, true, kOfLog},
                                       {"log10", "log10", 0, INFINITY, true, kOfLog},
                                       {"log1p", "log1p", -1, INFINITY, true, kOfLog},
                                       {"logit", "logit", 0, 1, true, kOfLog},
                                       {"sqrt", "the square root", 0, INFINITY, false, kOfRoot},
                                       {"rsqrt", "1 / sqrt", 0, INFINITY, true, kOfRoot},
                                       {"acos", "acos", -1, 1, false, kOfRoot},
                                       {"asin", "asin", -1, 1, false, kOfRoot},
                                       {"atanh", "atanh", -1, 1, true, kOfLog},
                                       {"erfinv", "erfinv", -1, 1, true, kOfLog}};
  return all;
}

std::optional<WatchReason> explain_domain(const std::string& type, const SlotExtent& input) {
  const auto domain = std::ranges::find(domains(), type, &Domain::type);
  if (domain == domains().end()) return std::nullopt;
  const auto say = [&](double argument, const std::string& how_many) {
    return WatchReason{std::string(domain->call) + " of " + format_g(argument) + how_many, domain->advice};
  };
  if (input.min < domain->lowest) return say(input.min, ", which is not a number");
  if (input.max > domain->highest) return say(input.max, ", which is not a number");
  if (!domain->is_open) return std::nullopt;
  const std::string zeros = domain->lowest == 0 && input.zeros > 0
                                ? ", which " + counted(input.zeros, "element") + " of " + input.slot +
                                      inflect(input.zeros, " is", " are")
                                : "";
  if (input.min == domain->lowest) return say(input.min, zeros);
  if (input.max == domain->highest) return say(input.max, "");
  return std::nullopt;
}

// exp and its kind: the largest argument whose result the dtype has.
std::optional<WatchReason> explain_exp(const std::string& type, const SlotExtent& input,
                                       const SlotExtent& made) {
  const auto limit = model::largest_number(made.dtype);
  if (!limit || std::isnan(input.max)) return std::nullopt;
  double largest = 0;
  if (type == "exp" || type == "expm1")
    largest = std::log(*limit);
  else if (type == "exp2")
    largest = std::log2(*limit);
  else if (type == "sinh" || type == "cosh")
    largest = std::log(*limit) + std::log(2.0);
  else
    return std::nullopt;
  const double argument = type == "sinh" || type == "cosh" ? input.largest() : input.max;
  if (!(argument > largest)) return std::nullopt;
  return WatchReason{type + " of " + format_g(argument) + " exceeds " + name_of(made.dtype) +
                         "'s largest number, " + format_g(*limit) + ": the largest argument is " +
                         format_g(largest),
                     kOfExp};
}

std::optional<WatchReason> explain_division(const std::string& type, const std::vector<SlotExtent>& extents) {
  const bool divides = type == "div" || type == "true_divide" || type == "divide" || type == "addcdiv";
  const SlotExtent* const divisor = type == "reciprocal" ? find_input(extents, 0)
                                    : type == "addcdiv"  ? find_input(extents, 2)
                                    : divides            ? find_input(extents, 1)
                                                         : nullptr;
  if (divisor == nullptr || divisor->zeros == 0) return std::nullopt;
  const SlotExtent* const dividend = divides ? find_input(extents, type == "addcdiv" ? 1 : 0) : nullptr;
  const std::string what = dividend != nullptr && dividend->largest() == 0 ? "0/0: " : "division by 0: ";
  return WatchReason{what + counted(divisor->zeros, "element") + " of the divisor, " + divisor->slot +
                         inflect(divisor->zeros, ", is 0", ", are 0"),
                     kOfDivision};
}

std::optional<WatchReason> explain_variance(const std::string& type, const SlotExtent& input,
                                            const SlotExtent& made) {
  if (!type.starts_with("var") && !type.starts_with("std")) return std::nullopt;
  if (made.not_finite.nan == 0 || model::element_count(input.shape) != model::element_count(made.shape))
    return std::nullopt;
  return WatchReason{"the variance of one element, divided by N - 1, is 0/0", kOfVariance};
}

// NaN of infinities that were read.
std::optional<WatchReason> explain_infinities(const dump::OperatorRun& run,
                                              const std::vector<SlotExtent>& extents,
                                              const SlotExtent& made) {
  if (std::string why = compare::explain_nan(run); !why.empty())
    return WatchReason{std::move(why), kOfSoftmax};
  if (made.not_finite.nan == 0) return std::nullopt;
  for (const SlotExtent& extent : extents)
    if (extent.side == model::Side::input && extent.not_finite.inf > 0)
      return WatchReason{
          extent.slot +
              " has infinities: infinity minus infinity, 0 times infinity and their kind are not numbers",
          {"find what the infinities are for: a mask is added once, and not multiplied"}};
  return std::nullopt;
}

bool adds_up_products(const std::string& type) {
  return model::has_trait(type, model::Trait::multiplies) || model::has_trait(type, model::Trait::convolves);
}

WatchReason explain_overflow(const dump::OperatorRun& run, const std::string& type,
                             const std::vector<SlotExtent>& extents, const SlotExtent& made) {
  const auto limit = model::largest_number(made.dtype);
  if (made.not_finite.inf == 0 || !limit) return {};
  const SlotExtent* largest = nullptr;
  for (const SlotExtent& extent : extents)
    if (extent.side == model::Side::input && model::is_floating(extent.dtype) &&
        (largest == nullptr || extent.largest() > largest->largest()))
      largest = &extent;
  const bool is_backward = run.op != nullptr && run.op->phase == model::Phase::backward;
  WatchReason reason{"its result exceeds " + name_of(made.dtype) + "'s largest number, " + format_g(*limit),
                     advice_on_overflow(made, is_backward)};
  if (largest == nullptr) return reason;
  if (largest->largest() > *limit)
    reason.why = format_g(largest->largest()) + " in " + largest->slot + " exceeds " + name_of(made.dtype) +
                 "'s largest number, " + format_g(*limit);
  else if (adds_up_products(type))
    reason.why = "a sum of products exceeds " + name_of(made.dtype) + "'s largest number, " +
                 format_g(*limit) + ": " + largest->slot + " goes up to " + format_g(largest->largest());
  else
    reason.why += ": " + largest->slot + " goes up to " + format_g(largest->largest());
  return reason;
}

}  // namespace

double SlotExtent::largest() const { return std::max(std::abs(max), std::abs(min)); }

std::vector<SlotExtent> extents_of(const dump::OperatorRun& run) {
  std::vector<SlotExtent> extents;
  for (const dump::Slot& slot : run.slots) {
    const auto columns = slot.statistics.columns();
    const auto max = compare::column_number(columns, "Max Value");
    const auto min = compare::column_number(columns, "Min Value");
    if (!max || !min) continue;
    extents.push_back(
        {.slot = compare::slot_name(slot),
         .side = slot.side,
         .index = slot.index,
         .dtype = slot.dtype,
         .shape = slot.shape.value_or(model::Shape()),
         .max = *max,
         .min = *min,
         .not_finite = compare::count_not_finite(columns).value_or(model::NotFinite()),
         .zeros = static_cast<std::uint64_t>(compare::column_number(columns, "Zero Count").value_or(0)),
         .file = slot.file});
  }
  return extents;
}

WatchReason explain(const dump::OperatorRun& run, const std::vector<SlotExtent>& extents,
                    const SlotExtent& made) {
  if (auto reason = explain_infinities(run, extents, made)) return *reason;
  const std::string type = plain_type(run.type);
  if (const SlotExtent* const input = find_input(extents, 0)) {
    if (auto reason = explain_domain(type, *input)) return *reason;
    if (auto reason = explain_exp(type, *input, made)) return *reason;
    if (auto reason = explain_variance(type, *input, made)) return *reason;
  }
  if (auto reason = explain_division(type, extents)) return *reason;
  return explain_overflow(run, type, extents, made);
}

std::vector<std::string> advice_on_scaler() {
  return {"no scale gives finite gradients: the fault is in the backward pass, not in its scale",
          "run it with torch.autograd.set_detect_anomaly(True), or without autocast"};
}

std::vector<std::string> advice_on_outer_nan() {
  return {"look at the batch: torch.isnan(x).any() before the model",
          "memory of torch.empty has NaN by chance: fill it"};
}

}  // namespace opdump::cli
