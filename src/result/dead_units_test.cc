#include "result/dead_units.h"
#include "model/operator_traits.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace opdump::result {
namespace {

using model::DType;
using model::Shape;
using model::TensorView;

TEST(DeadUnits, OfMatricesAreColumns) {
  const std::vector<float> values{0, 1, -0.0f, 0, 0, 0};  // columns: dead, alive, dead
  const auto found = count_dead_units(TensorView::row_major(DType::float32, Shape{2, 3}, values.data()));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->units, 3u);
  EXPECT_EQ(found->dead, 2u);
}

TEST(DeadUnits, OfImagesAreChannels) {
  std::vector<std::uint16_t> values(2 * 3 * 2 * 2);  // float16
  values[2 * 3 * 2 * 2 - 1] = 1;                     // the last channel of the second image: denormal
  const auto found =
      count_dead_units(TensorView::row_major(DType::float16, Shape{2, 3, 2, 2}, values.data()));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->units, 3u);
  EXPECT_EQ(found->dead, 2u);
}

TEST(DeadUnits, AreNotCountedWhereOneElementSaysNothing) {
  const std::array<float, 4> values{};
  EXPECT_FALSE(count_dead_units(TensorView::row_major(DType::float32, Shape{4}, values.data())));
  EXPECT_FALSE(count_dead_units(TensorView::row_major(DType::float32, Shape{1, 4}, values.data())));
  EXPECT_FALSE(count_dead_units(TensorView::row_major(DType::float32, Shape{0, 4}, values.data())));
  EXPECT_FALSE(count_dead_units(TensorView::row_major(DType::int32, Shape{2, 2}, values.data())));
}

TEST(LargestFinite, IsThatOfTheDtype) {
  EXPECT_EQ(largest_finite(DType::float16), 65504);
  EXPECT_EQ(largest_finite(DType::bfloat16), 3.3895313892515355e38);
  EXPECT_FALSE(largest_finite(DType::int32));
}

TEST(DeadUnits, BelongToActivations) {
  EXPECT_TRUE(model::has_trait("relu_", model::Trait::activation));
  EXPECT_TRUE(model::has_trait("LeakyRelu", model::Trait::activation));
  EXPECT_FALSE(model::has_trait("addmm", model::Trait::activation));
}

}  // namespace
}  // namespace opdump::result
