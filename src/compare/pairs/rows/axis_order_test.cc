#include "compare/pairs/rows/axis_order.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "compare/measure/tensor_layout.h"

namespace opdump::compare {
namespace {

using model::Shape;
using model::TensorView;

// Whether a plan finds that `actual`, golden's elements with axes in `order` and then in another shape, has
// the same.
bool finds(const AxisOrder& axes, const Shape& shape, const std::vector<std::size_t>& order,
           const Shape& in_golden, const Shape& in_actual) {
  std::vector<float> elements(static_cast<std::size_t>(model::element_count(shape).value_or(0)));
  std::iota(elements.begin(), elements.end(), 1.0F);
  const TensorView golden = TensorView::row_major(model::DType::float32, shape, elements.data());
  const TensorView moved = permute(golden, order);
  std::vector<float> others;
  for (std::int64_t i = 0; i < moved.shape[0]; ++i)
    for (std::int64_t j = 0; j < moved.shape[1]; ++j)
      for (std::int64_t k = 0; k < moved.shape[2]; ++k)
        others.push_back(elements[static_cast<std::size_t>(i * moved.strides[0] + j * moved.strides[1] +
                                                           k * moved.strides[2])]);
  SlotParts parts{.plans = axes.plans(in_golden, in_actual), .left_out = {}};
  SlotComparison slot;
  slot.dtype = model::DType::float32;
  slot.parts = std::make_shared<const SlotParts>(parts);
  measure_parts(slot, TensorView::row_major(model::DType::float32, in_golden, elements.data()),
                TensorView::row_major(model::DType::float32, in_actual, others.data()), model::DType::float32,
                {}, 1);
  return slot.metrics && slot.metrics->mismatch_count == 0;
}

TEST(AxisOrderTest, TokensBeforeBatches) {
  const AxisOrder axes({3, 7});
  EXPECT_TRUE(finds(axes, {3, 7, 4}, {1, 0, 2}, {3, 7, 4}, {7, 3, 4}));
  EXPECT_TRUE(finds(axes, {3, 7, 4}, {1, 0, 2}, {21, 4}, {21, 4}));  // both are merged
  EXPECT_TRUE(finds(axes, {3, 7, 4}, {1, 0, 2}, {3, 7, 4}, {21, 4}));
  EXPECT_TRUE(finds(axes, {3, 7, 4}, {0, 1, 2}, {21, 4}, {21, 4}));
  EXPECT_FALSE(finds(axes, {3, 7, 4}, {2, 1, 0}, {3, 7, 4}, {3, 7, 4}));
}

TEST(AxisOrderTest, MergedAxes) {
  const AxisOrder axes({});
  EXPECT_TRUE(finds(axes, {3, 7, 4}, {0, 1, 2}, {3, 7, 4}, {21, 4}));
  EXPECT_TRUE(finds(axes, {3, 7, 4}, {0, 1, 2}, {3, 28}, {21, 4}));
  EXPECT_TRUE(axes.plans({3, 7, 4}, {7, 3, 4}).empty());
  EXPECT_TRUE(axes.plans({6, 4}, {4, 6}).empty());
  EXPECT_TRUE(axes.plans({16, 32}, {32, 16}).empty());
  EXPECT_TRUE(axes.plans({6, 4}, {6, 5}).empty());
}

}  // namespace
}  // namespace opdump::compare
