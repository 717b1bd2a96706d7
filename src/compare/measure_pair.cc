#include "compare/measure_pair.h"

#include <cmath>
#include <string>
#include <utility>

namespace opdump::compare {
namespace {

bool is_number(model::DType dtype) {
  const model::DTypeKind kind = model::dtype_info(dtype).kind;
  return kind == model::DTypeKind::floating || kind == model::DTypeKind::complex;
}

// Of golden; nothing if it cannot be derived: the tensors are equal, or a difference is not finite.
std::optional<double> root_mean_square(const math::Metrics& metrics) {
  if (!(metrics.relative_l2 > 0) || !std::isfinite(metrics.rmse)) return std::nullopt;
  return metrics.rmse / metrics.relative_l2;  // 0 if golden is all zero
}

}  // namespace

math::Tolerance tolerance_of(model::DType dtype, const CompareOptions& options) {
  const math::Tolerance table = default_tolerance(dtype);
  return {options.rtol.value_or(table.rtol), options.atol.value_or(table.atol)};
}

model::DType coarser_dtype(model::DType golden, model::DType actual) {
  if (!is_number(golden) || !is_number(actual)) return golden;
  return default_tolerance(actual).rtol > default_tolerance(golden).rtol ? actual : golden;
}

// The tolerance of a table is meant for tensors whose elements are about 1.
Result<math::Metrics> measure_pair(const model::TensorView& actual, const model::TensorView& golden,
                                   model::DType dtype, const CompareOptions& options, unsigned threads) {
  math::Tolerance tolerance = tolerance_of(dtype, options);
  OPDUMP_TRY(const math::Metrics metrics, math::compare_tensors(actual, golden, tolerance, threads));
  const auto scale = root_mean_square(metrics);
  if (options.atol || !scale || tolerance.atol == 0) return metrics;
  tolerance.atol *= *scale;
  return math::compare_tensors(actual, golden, tolerance, threads);
}

void judge_metrics(SlotComparison& slot, const math::Metrics& metrics) {
  slot.metrics = metrics;
  slot.verdict = metrics.mismatch_count == 0 ? Verdict::match : Verdict::own_error;
  if (metrics.mismatch_count == 0) return;
  std::string reason = std::move(slot.reason);
  if (metrics.nan_mismatch_count > 0) {
    if (!reason.empty()) reason += "; ";
    reason += std::to_string(metrics.nan_mismatch_count) + " of " + std::to_string(metrics.count) +
              " elements are NaN or inf on one side";
  }
  slot.reason = std::move(reason);
}

}  // namespace opdump::compare
