#include "compare/measure/tensor_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "math/stats/stats.h"

namespace opdump::compare {
namespace {

constexpr double kClose = 0.02;            // relative L2 distance
constexpr std::size_t kMostAxes = 5;       // that are permuted: 120 orders
constexpr std::uint64_t kMost = 16 << 20;  // elements of a tensor whose axes are permuted

double distance_of(const model::TensorView& golden, const model::TensorView& actual) {
  const auto metrics = math::compare_tensors(actual, golden, {});
  return metrics ? metrics->relative_l2 : INFINITY;
}

double norm_of(const model::TensorView& tensor) {
  if (!math::has_statistics(tensor.dtype)) return NAN;
  return math::finish(math::partial_stats(tensor, {.squares = true})).l2norm;
}

struct Choice {
  double distance = INFINITY;
  std::vector<std::size_t> axes = {};
};

// The order of axes of `moved` that is most like `fixed`.
Choice find_axes(const model::TensorView& moved, const model::TensorView& fixed) {
  Choice best;
  const std::size_t rank = moved.shape.rank();
  if (rank < 2 || rank > kMostAxes) return best;
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  while (best.distance > kClose && std::ranges::next_permutation(axes).found)
    if (const double distance = distance_of(fixed, permute(moved, axes)); distance < best.distance)
      best = {.distance = distance, .axes = axes};
  return best;
}

std::vector<std::size_t> axes_to_shape(const model::TensorView& golden, const model::TensorView& actual) {
  const std::size_t rank = actual.shape.rank();
  if (golden.shape == actual.shape || golden.shape.rank() != rank || rank > kMostAxes) return {};
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  while (std::ranges::next_permutation(axes).found)
    if (permute(actual, axes).shape == golden.shape) return axes;
  return {};
}

std::string format_axes(const std::vector<std::size_t>& axes) {
  std::string text;
  for (const std::size_t axis : axes) text += (text.empty() ? "(" : ",") + std::to_string(axis);
  return text + ")";
}

}  // namespace

std::string Layout::describe(const model::TensorView& golden, const model::TensorView& actual) const {
  std::string text;
  if (!golden_axes.empty()) text = "axes " + format_axes(golden_axes) + " of golden";
  if (!actual_axes.empty()) text = "axes " + format_axes(actual_axes) + " of actual";
  if (!(permute(golden, golden_axes).shape == permute(actual, actual_axes).shape))
    text += (text.empty() ? "" : ", ") + ("reshaped from " + model::format_shape(actual.shape));
  return text;
}

model::TensorView permute(const model::TensorView& tensor, const std::vector<std::size_t>& axes) {
  if (axes.empty()) return tensor;
  model::TensorView view = tensor;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    view.shape.dims()[i] = tensor.shape[axes[i]];
    view.strides.dims()[i] = tensor.strides[axes[i]];
  }
  return view;
}

Layout find_layout(const model::TensorView& golden, const model::TensorView& actual) {
  const Layout by_shape{.golden_axes = {}, .actual_axes = axes_to_shape(golden, actual)};
  const double as_it_is = distance_of(golden, actual);
  if (golden.element_count() > kMost) return by_shape;
  if (as_it_is <= kClose) return {};
  const double g = norm_of(golden), a = norm_of(actual);
  if (!(std::abs(g - a) <= kClose * g)) return by_shape;  // what is in them differs, in whatever order
  Choice of_actual = find_axes(actual, golden);
  if (of_actual.distance <= kClose) return {.golden_axes = {}, .actual_axes = std::move(of_actual.axes)};
  Choice of_golden = find_axes(golden, actual);
  if (of_golden.distance <= kClose) return {.golden_axes = std::move(of_golden.axes), .actual_axes = {}};
  return by_shape;
}

}  // namespace opdump::compare
