#include "compare/measure/tensor_layout.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace opdump::compare {
namespace {

using model::TensorView;
using Axes = std::vector<std::size_t>;

std::vector<float> count(std::size_t size) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

// Row-major memory of `view`.
std::vector<float> gather(const TensorView& view) {
  std::vector<float> values;
  const auto walk = [&](const auto& self, std::size_t axis, std::int64_t at) -> void {
    if (axis == view.shape.rank()) {
      values.push_back(reinterpret_cast<const float*>(view.data)[at]);
      return;
    }
    for (std::int64_t i = 0; i < view.shape[axis]; ++i) self(self, axis + 1, at + i * view.strides[axis]);
  };
  walk(walk, 0, 0);
  return values;
}

TensorView view_of(const std::vector<float>& values, model::Shape shape) {
  return TensorView::row_major(model::DType::float32, std::move(shape), values.data());
}

TEST(FindLayout, AsItIsWhereValuesAgree) {
  const auto values = count(24);
  const Layout layout = find_layout(view_of(values, {2, 3, 4}), view_of(values, {6, 4}));
  EXPECT_TRUE(layout.golden_axes.empty() && layout.actual_axes.empty());
  EXPECT_EQ(layout.describe(view_of(values, {2, 3, 4}), view_of(values, {6, 4})), "reshaped from (6,4)");
}

TEST(FindLayout, TransposedWeights) {
  const auto values = count(9);
  const TensorView golden = view_of(values, {3, 3});
  const auto turned = gather(permute(golden, {1, 0}));
  const Layout layout = find_layout(golden, view_of(turned, {3, 3}));
  EXPECT_EQ(layout.actual_axes, (Axes{1, 0}));
  EXPECT_EQ(layout.describe(golden, view_of(turned, {3, 3})), "axes (1,0) of actual");
}

TEST(FindLayout, ChannelsLast) {
  const auto values = count(2 * 3 * 4 * 5);
  const TensorView golden = view_of(values, {2, 3, 4, 5});
  const auto last = gather(permute(golden, {0, 2, 3, 1}));
  EXPECT_EQ(find_layout(golden, view_of(last, {2, 4, 5, 3})).actual_axes, (Axes{0, 3, 1, 2}));
}

TEST(FindLayout, DirectionsOfAnLstmBesideTheBatch) {
  const auto values = count(3 * 2 * 4 * 5);
  const TensorView actual = view_of(values, {3, 2, 4, 5});
  const auto joined = gather(permute(actual, {0, 2, 1, 3}));
  EXPECT_EQ(find_layout(view_of(joined, {3, 4, 10}), actual).actual_axes, (Axes{0, 2, 1, 3}));
  EXPECT_EQ(find_layout(actual, view_of(joined, {3, 4, 10})).golden_axes, (Axes{0, 2, 1, 3}));
}

TEST(FindLayout, OtherValuesByShape) {
  const auto golden = count(6);
  const std::vector<float> other{9, -7, 40, 2, 0, 1};
  EXPECT_EQ(find_layout(view_of(golden, {2, 3}), view_of(other, {3, 2})).actual_axes, (Axes{1, 0}));
  EXPECT_TRUE(find_layout(view_of(golden, {2, 3}), view_of(other, {2, 3})).actual_axes.empty());
}

}  // namespace
}  // namespace opdump::compare
