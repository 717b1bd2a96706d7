#include "msaccucmp/judge/accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text/text.h"
#include "math/metrics/numpy_metrics.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {
namespace {

using math::NumpyMetrics;
using model::TensorView;

constexpr double kTiny = 0x1p-52;  // the epsilon of a double
constexpr int kDecimals = 6;

std::string number(double value) { return format_fixed(value, kDecimals); }

// One row in the making.
class RowMaker {
 public:
  explicit RowMaker(const AccuracyOptions& options) : options_(options) {}

  bool wants(Accuracy metric) const { return options_.wanted[static_cast<std::size_t>(metric)]; }

  void set(Accuracy metric, std::string value) {
    if (wants(metric)) row_.values[static_cast<std::size_t>(metric)] = std::move(value);
  }

  void complain(Accuracy metric, std::string message) {
    if (!wants(metric)) return;
    row_.messages.push_back(message);
    row_.reasons[static_cast<std::size_t>(metric)] = std::move(message);
  }

  void fail(Accuracy metric, std::string message) {
    set(metric, "NaN");
    complain(metric, std::move(message));
  }

  // Reports it as the original does an exception of NumPy's.
  void fail_executing(Accuracy metric, std::string_view reason) {
    fail(metric, "Failed to execute 'compare' in '" +
                     std::string(kAccuracyNames[static_cast<std::size_t>(metric)]) + "'. " +
                     std::string(reason));
  }

  AccuracyRow take() { return std::move(row_); }
  const AccuracyOptions& options() const { return options_; }

 private:
  const AccuracyOptions& options_;
  AccuracyRow row_;
};

bool is_scalar(const TensorView& view) {
  return std::ranges::all_of(view.shape.dims(), [](std::int64_t dim) { return dim == 1; });
}

bool is_boolean(const TensorView& view) { return view.dtype == model::DType::boolean; }

// sqrt because the original asks the norm of the norm.
bool counts_as_zero(double norm) { return std::sqrt(norm) <= kTiny; }

void set_cosine(RowMaker& row, bool scalar, double actual_norm, double golden_norm, double cosine) {
  if (scalar) {
    row.set(Accuracy::cosine, number(1));
    return row.complain(Accuracy::cosine, "This tensor is scalar.");
  }
  if (actual_norm <= kTiny && golden_norm < kTiny) return row.set(Accuracy::cosine, "1.0");
  const bool actual_zero = counts_as_zero(actual_norm);
  if (!actual_zero && !counts_as_zero(golden_norm)) return row.set(Accuracy::cosine, number(cosine));
  row.fail(Accuracy::cosine, "Cannot compare by Cosine Similarity. All the data is zero in " +
                                 (actual_zero ? row.options().actual_name : row.options().golden_name) + ".");
}

void set_maximum(RowMaker& row, Accuracy metric, const NumpyMetrics& metrics, double value) {
  if (metrics.count == 0)
    row.fail_executing(metric, "zero-size array to reduction operation maximum which has no identity");
  else
    row.set(metric, number(value));
}

std::string spread_of(double mean, double deviation) {
  const auto shown = [](double value) { return format_fixed(std::abs(value) < 0.001 ? 0 : value, 3); };
  return "(" + shown(mean) + ";" + shown(deviation) + ")";
}

void set_numbers(RowMaker& row, const NumpyMetrics& metrics, bool scalar) {
  set_cosine(row, scalar, metrics.actual_norm, metrics.golden_norm, metrics.cosine);
  set_maximum(row, Accuracy::max_absolute, metrics, metrics.max_absolute);
  row.set(Accuracy::accumulated_relative, number(metrics.accumulated_relative));
  const bool golden_is_zero = metrics.golden_norm <= static_cast<float>(kTiny);
  row.set(Accuracy::relative_euclidean, number(golden_is_zero ? 0 : metrics.relative_euclidean));
  set_maximum(row, Accuracy::divergence, metrics, metrics.divergence);
  if (metrics.count > 0 && metrics.divergence == std::numeric_limits<double>::infinity())
    row.complain(Accuracy::divergence, "Cannot compare by KL Divergence. The data contains 0 in '" +
                                           row.options().golden_name + "'.");
  row.set(Accuracy::deviation, spread_of(metrics.actual_mean, metrics.actual_deviation) + "," +
                                   spread_of(metrics.golden_mean, metrics.golden_deviation));
  row.set(Accuracy::mean_absolute, number(metrics.mean_absolute));
  row.set(Accuracy::root_mean_square, number(metrics.root_mean_square));
  set_maximum(row, Accuracy::max_relative, metrics, metrics.max_relative);
  row.set(Accuracy::mean_relative, number(metrics.mean_relative));
}

// Two bool tensors: NumPy has no difference of them.
void set_boolean(RowMaker& row, const TensorView& actual, const TensorView& golden) {
  const math::BooleanCosine cosine = math::numpy_boolean_cosine(actual, golden);
  for (std::size_t i = 0; i < kAccuracyCount; ++i) {
    const auto metric = static_cast<Accuracy>(i);
    if (metric == Accuracy::cosine)
      set_cosine(row, row.options().is_scalar.value_or(is_scalar(actual) && is_scalar(golden)),
                 cosine.actual_norm, cosine.golden_norm, cosine.cosine);
    else if (metric != Accuracy::relative_euclidean)
      row.fail(metric, "Algorithm " + std::string(kAccuracyNames[i]) + " does not support Boolean types.");
    else if (cosine.golden_norm <= kTiny)
      row.set(metric, number(0));
    else
      row.fail_executing(metric,
                         "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, "
                         "the `^` operator, or the logical_xor function instead.");
  }
}

}  // namespace

Result<AccuracyRow> measure_accuracy(const TensorView& actual, const TensorView& golden,
                                     const AccuracyOptions& options) {
  RowMaker row(options);
  if (is_boolean(actual) && is_boolean(golden) && actual.element_count() == golden.element_count()) {
    set_boolean(row, actual, golden);
    return row.take();
  }
  math::NumpyMetricNeeds needs;
  needs.cosine = row.wants(Accuracy::cosine);
  needs.deviation = row.wants(Accuracy::deviation);
  needs.divergence = row.wants(Accuracy::divergence);
  OPDUMP_TRY(const NumpyMetrics metrics, math::numpy_metrics(actual, golden, needs, options.threads));
  set_numbers(row, metrics, options.is_scalar.value_or(is_scalar(actual) && is_scalar(golden)));
  return row.take();
}

}  // namespace opdump::msaccucmp
