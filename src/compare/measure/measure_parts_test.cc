#include "compare/measure/measure_parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "math/metrics/metrics.h"

namespace opdump::compare {
namespace {

using model::DType;
using model::Shape;
using model::TensorView;

TEST(MeasurePartsTest, AxesAreSplitIntoFactors) {
  std::vector<float> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0.F);
  const TensorView whole = TensorView::row_major(DType::float32, {6, 4}, numbers.data());
  const TensorView split = split_axes(whole, {.sizes = {2, 3, 4}, .axes = {0, 0, 1}});
  EXPECT_EQ(split.shape, Shape({2, 3, 4}));
  EXPECT_EQ(split.strides, Shape({12, 4, 1}));
  const TensorView box = box_of(split, {1, 1, 2}, {1, 2, 2});
  EXPECT_EQ(box.shape, Shape({1, 2, 2}));
  EXPECT_EQ(*reinterpret_cast<const float*>(box.data), 18.F);
  EXPECT_EQ(split_axes(TensorView::row_major(DType::float32, {}, numbers.data()), {}).shape, Shape());
}

TEST(MeasurePartsTest, MetricsOfPartsAreThoseOfTheWhole) {
  const std::vector<float> golden{1, 2, 3, 4, -5, 6}, actual{1, 2.5, 3, 4, -5, 8};
  const auto view = [](const std::vector<float>& all, std::int64_t first, std::int64_t count) {
    return TensorView::row_major(DType::float32, {count}, all.data() + first);
  };
  const math::Tolerance exact;
  const auto whole = math::compare_tensors(view(actual, 0, 6), view(golden, 0, 6), exact);
  const auto a = math::compare_tensors(view(actual, 0, 3), view(golden, 0, 3), exact);
  const auto b = math::compare_tensors(view(actual, 3, 3), view(golden, 3, 3), exact);
  ASSERT_TRUE(whole && a && b);
  const math::Metrics joined = join_metrics(*a, *b);
  EXPECT_EQ(joined.count, whole->count);
  EXPECT_EQ(joined.mismatch_count, 2U);
  EXPECT_NEAR(joined.cosine, whole->cosine, 1e-12);
  EXPECT_NEAR(joined.relative_l2, whole->relative_l2, 1e-12);
  EXPECT_NEAR(joined.rmse, whole->rmse, 1e-12);
  EXPECT_NEAR(joined.mean_abs, whole->mean_abs, 1e-12);
  EXPECT_NEAR(joined.actual_norm, whole->actual_norm, 1e-12);
  EXPECT_EQ(joined.max_abs, whole->max_abs);
}

// Equal parts have no distance from which the norm of golden follows.
TEST(MeasurePartsTest, EqualPartsKeepTheirSize) {
  const std::vector<float> golden{3, 4, 0, 1}, actual{3, 4, 0, 2};
  const auto view = [](const std::vector<float>& all, std::int64_t first) {
    return TensorView::row_major(DType::float32, {2}, all.data() + first);
  };
  const auto a = math::compare_tensors(view(actual, 0), view(golden, 0), {});
  const auto b = math::compare_tensors(view(actual, 2), view(golden, 2), {});
  ASSERT_TRUE(a && b);
  EXPECT_NEAR(join_metrics(*a, *b).relative_l2, 1 / std::sqrt(26.), 1e-12);
}

}  // namespace
}  // namespace opdump::compare
