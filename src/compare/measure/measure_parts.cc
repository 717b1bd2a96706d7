#include "compare/measure/measure_parts.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "compare/measure/measure_pair.h"
#include "compare/measure/tensor_layout.h"

namespace opdump::compare {
namespace {

// The row-major index of an element of a part in the whole tensor.
std::uint64_t index_in_whole(std::uint64_t index, const model::Shape& whole, const model::Shape& first,
                             const model::Shape& extent) {
  std::uint64_t place = 0, stride = 1;
  for (std::size_t axis = whole.rank(); axis-- > 0;) {
    const auto size = static_cast<std::uint64_t>(extent[axis]);
    place += (static_cast<std::uint64_t>(first[axis]) + index % size) * stride;
    index /= size;
    stride *= static_cast<std::uint64_t>(whole[axis]);
  }
  return place;
}

// Sums of squares, from which the metrics are computed.
struct Squares {
  double difference = 0, golden = 0, actual = 0, product = 0;
};

Squares squares_of(const math::Metrics& metrics) {
  Squares squares;
  const double apart = metrics.rmse * std::sqrt(static_cast<double>(metrics.count));
  squares.difference = apart * apart;
  const double golden = apart > 0 && metrics.relative_l2 > 0 && std::isfinite(metrics.relative_l2)
                            ? apart / metrics.relative_l2
                        : apart > 0 ? 0.0
                                    : metrics.actual_norm;
  squares.golden = golden * golden;
  squares.actual = metrics.actual_norm * metrics.actual_norm;
  squares.product = metrics.cosine * golden * metrics.actual_norm;
  return squares;
}

double ratio(double part, double whole) { return part == 0 ? 0 : part / whole; }

std::optional<math::Metrics> measure_plan(const PartPlan& plan, const model::TensorView& golden,
                                          const model::TensorView& actual, model::DType dtype,
                                          const CompareOptions& options, unsigned threads) {
  std::optional<math::Metrics> all;
  const model::TensorView g = split_axes(golden, plan.golden);
  const model::TensorView a = permute(split_axes(actual, plan.actual), plan.order);
  for (const TensorPart& part : plan.parts) {
    auto metrics = measure_pair(box_of(a, part.actual, part.extent), box_of(g, part.golden, part.extent),
                                dtype, options, threads);
    if (!metrics) return std::nullopt;
    metrics->max_abs_index = index_in_whole(metrics->max_abs_index, g.shape, part.golden, part.extent);
    all = all ? join_metrics(*all, *metrics) : *metrics;
  }
  return all;
}

}  // namespace

model::TensorView split_axes(const model::TensorView& tensor, const Factors& factors) {
  model::TensorView view = tensor;
  view.shape = view.strides = factors.sizes;
  std::int64_t stride = 0;
  for (std::size_t i = factors.axes.size(); i-- > 0;) {
    if (factors.axes[i] == Factors::kSpread) {
      view.strides.dims()[i] = 0;
      continue;
    }
    const bool is_innermost = i + 1 == factors.axes.size() || factors.axes[i] != factors.axes[i + 1];
    stride = is_innermost ? tensor.strides[factors.axes[i]] : stride * factors.sizes[i + 1];
    view.strides.dims()[i] = stride;
  }
  return view;
}

model::TensorView box_of(const model::TensorView& tensor, const model::Shape& first,
                         const model::Shape& extent) {
  model::TensorView view = tensor;
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < extent.rank(); ++axis) offset += first[axis] * tensor.strides[axis];
  view.shape = extent;
  view.data += offset * (model::dtype_info(tensor.dtype).bits / 8);
  return view;
}

math::Metrics join_metrics(const math::Metrics& a, const math::Metrics& b) {
  const Squares x = squares_of(a), y = squares_of(b);
  math::Metrics all = a.max_abs >= b.max_abs ? a : b;
  const auto count = static_cast<double>(a.count + b.count);
  all.count = a.count + b.count;
  all.mismatch_count = a.mismatch_count + b.mismatch_count;
  all.nan_mismatch_count = a.nan_mismatch_count + b.nan_mismatch_count;
  all.max_rel = std::max(a.max_rel, b.max_rel);
  all.mean_abs =
      (a.mean_abs * static_cast<double>(a.count) + b.mean_abs * static_cast<double>(b.count)) / count;
  const double difference = x.difference + y.difference, golden = x.golden + y.golden;
  all.relative_l2 = ratio(std::sqrt(difference), std::sqrt(golden));
  all.rmse = std::sqrt(difference / count);
  all.actual_norm = std::sqrt(x.actual + y.actual);
  const double norms = std::sqrt(golden) * all.actual_norm;
  all.cosine = norms > 0 ? (x.product + y.product) / norms : golden == x.actual + y.actual ? 1 : 0;
  return all;
}

void measure_parts(SlotComparison& slot, const model::TensorView& golden, const model::TensorView& actual,
                   model::DType dtype, const CompareOptions& options, unsigned threads) {
  std::optional<math::Metrics> nearest;
  for (const PartPlan& plan : slot.parts->plans) {
    const auto metrics = measure_plan(plan, golden, actual, dtype, options, threads);
    if (!metrics) continue;
    if (!nearest || metrics->mismatch_count == 0 || metrics->relative_l2 < nearest->relative_l2)
      nearest = *metrics;
    if (metrics->mismatch_count == 0) break;
  }
  if (!nearest) {
    slot.verdict = Verdict::not_comparable;
    slot.reason = "no row or position of the one is in the other";
    return;
  }
  slot.bytes = nearest->count * model::dtype_info(golden.dtype).bits / 8;
  judge_metrics(slot, *nearest);
}

}  // namespace opdump::compare
