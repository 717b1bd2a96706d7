#include "compare/measure/measure_pair.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "math/stats/stats.h"

namespace opdump::compare {
namespace {

bool is_number(model::DType dtype) {
  const model::DTypeKind kind = model::dtype_info(dtype).kind;
  return kind == model::DTypeKind::floating || kind == model::DTypeKind::complex;
}

// Returns golden's root mean square; nothing if it cannot be derived: the tensors are equal, or a difference
// is not finite.
std::optional<double> root_mean_square(const math::Metrics& metrics) {
  if (!(metrics.relative_l2 > 0) || !std::isfinite(metrics.rmse)) return std::nullopt;
  return metrics.rmse / metrics.relative_l2;  // 0 if golden is all zero
}

// A mask fills scores with a number that stands for minus infinity, and that hides all others in a norm.
constexpr double kLeastScale = 10, kFarBeyond = 1e3;

std::optional<double> lowest(const model::TensorView& tensor) {
  if (!is_number(tensor.dtype) || !math::has_statistics(tensor.dtype)) return std::nullopt;
  return math::finish(math::partial_stats(tensor, {.extremes = true})).min;
}

// The metrics without the elements that a mask has filled in both runs; nothing if there are no such.
std::optional<math::Metrics> measure_unmasked(const model::TensorView& actual,
                                              const model::TensorView& golden, math::Tolerance& tolerance,
                                              double scale, unsigned threads) {
  const auto filler = scale >= kLeastScale ? lowest(golden) : std::nullopt;
  if (!filler || !(*filler < -kFarBeyond)) return std::nullopt;
  math::Tolerance unmasked = tolerance;
  unmasked.filler = *filler;
  const auto metrics = math::compare_tensors(actual, golden, unmasked, threads);
  const auto others = metrics ? root_mean_square(*metrics) : std::nullopt;
  if (!others || *others * kFarBeyond > -*filler) return std::nullopt;
  const double filled = (scale / *filler) * (scale / *filler) * static_cast<double>(metrics->count);
  if (filled < 1.5) return std::nullopt;  // one large number
  tolerance = unmasked;
  return *metrics;
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

model::DType coarsest_dtype(const SlotComparison& slot) {
  const model::DType actual = slot.actual != nullptr ? slot.actual->dtype : slot.dtype;
  const model::DType both =
      coarser_dtype(slot.dtype, actual == model::DType::undefined ? slot.dtype : actual);
  return both == model::DType::float32 && slot.rounds_as != model::DType::undefined ? slot.rounds_as : both;
}

// The tolerance of a table is meant for tensors whose elements are about 1.
Result<math::Metrics> measure_pair(const model::TensorView& actual, const model::TensorView& golden,
                                   model::DType dtype, const CompareOptions& options, unsigned threads) {
  math::Tolerance tolerance = tolerance_of(dtype, options);
  OPDUMP_TRY(math::Metrics metrics, math::compare_tensors(actual, golden, tolerance, threads));
  auto scale = root_mean_square(metrics);
  if (scale)
    if (const auto unmasked = measure_unmasked(actual, golden, tolerance, *scale, threads)) {
      metrics = *unmasked;
      scale = root_mean_square(metrics);
    }
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
