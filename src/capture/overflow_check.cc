#include "capture/overflow_check.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <variant>

#include "capture/tensor_forms.h"
#include "math/stats/stats.h"

namespace opdump::capture {
namespace {

bool is_non_finite(const math::Statistics& statistics) {  // extremes are NaN if one element is
  return !std::isfinite(statistics.max) || !std::isfinite(statistics.min);
}

}  // namespace

bool can_overflow(model::DType dtype) { return model::is_floating(dtype) && math::has_statistics(dtype); }

bool starts_with_nan(const model::TensorView& view) {
  const auto first = model::TensorView::row_major(view.dtype, {}, view.data);
  return math::partial_stats(first, {.extremes = true}).has_nan;
}

bool is_non_finite(const model::Argument& argument) {
  if (const auto* number = std::get_if<double>(&argument.value)) return !std::isfinite(*number);
  const auto* items = std::get_if<model::Argument::List>(&argument.value);
  return argument.is_non_finite ||
         (items && std::ranges::any_of(*items, [](const auto& item) { return is_non_finite(item); }));
}

bool OverflowCheck::overflows(const Operand& operand) {
  if (!rules_.reason_not_to_dump(operand).empty()) return false;
  const model::TensorView view = as_reals(operand.view);
  if (!can_overflow(view.dtype)) return false;
  const auto key = ReuseKey::make(operand.content, view, false);
  if (operand.content != 0)
    if (const auto known = known_.find(key, state_.step)) return is_non_finite(known->statistics);
  const JobNeeds needs{.statistics = {.extremes = true}};
  math::Statistics found;
  if (view.byte_count() <= kSmallBytes) {
    found = math::finish(math::partial_stats(view, needs.statistics));
  } else {
    const auto job = std::make_shared<Job>(view, needs, dump::SlotAddress{}, nullptr);
    pipeline_.run_now(job);
    found = job->statistics();
  }
  if (operand.content != 0) known_.add(key, {nullptr, found}, state_.step);
  return is_non_finite(found);
}

std::optional<std::uint32_t> OverflowCheck::find(std::span<const Operand> operands) {
  for (const Operand& operand : operands)
    if (overflows(operand)) return operand.index;
  return std::nullopt;
}

}  // namespace opdump::capture
