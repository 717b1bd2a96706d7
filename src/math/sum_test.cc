#include "math/sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace opdump::math {
namespace {

using model::TensorView;
using ::testing::ElementsAre;

TEST(Sum, AddsInRowMajorOrder) {
  const std::vector<float> a{1, 2, 3, 4};
  const std::vector<double> b{10, 20, 30, 40};
  TensorView transposed = TensorView::row_major(model::DType::float32, {2, 2}, a.data());
  transposed.strides = {1, 2};
  const std::vector tensors{transposed, TensorView::row_major(model::DType::float64, {2, 2}, b.data())};
  std::vector<double> out(4, 7);
  sum_tensors(tensors, 1, out);
  EXPECT_THAT(out, ElementsAre(11, 23, 32, 44));
  sum_tensors(tensors, 0.5, out);
  EXPECT_THAT(out, ElementsAre(5.5, 11.5, 16, 22));
}

TEST(Sum, GoesBeyondABlock) {
  const std::vector<float> ones(5000, 1);
  const TensorView view = TensorView::row_major(model::DType::float32, {5000}, ones.data());
  const std::vector tensors{view, view};
  std::vector<double> out(5000);
  sum_tensors(tensors, 1, out);
  EXPECT_EQ(out, std::vector<double>(5000, 2));
}

}  // namespace
}  // namespace opdump::math
