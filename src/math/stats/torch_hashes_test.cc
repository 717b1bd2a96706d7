#include "math/stats/torch_hashes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace opdump::math {
namespace {

using model::DType;
using model::TensorView;

template <typename T>
TensorView view_of(DType dtype, const std::vector<T>& elements) {
  return TensorView::row_major(dtype, {static_cast<std::int64_t>(elements.size())}, elements.data());
}

// The expected numbers are those of torch 2.15: norm_hash_fn and hash_tensor_fn.
TEST(TorchHashes, AsTorchComputesThem) {
  const std::vector<float> floats{0, 1, 2};
  EXPECT_EQ(sum_of_magnitudes(view_of(DType::float32, floats)), 3);
  EXPECT_EQ(xor_of_elements(view_of(DType::float32, floats)), 9218868437227405312U);
  const std::vector<std::int64_t> integers{16777217, 3};  // the first is no float
  EXPECT_EQ(sum_of_magnitudes(view_of(DType::int64, integers)), 16777219);
  EXPECT_EQ(xor_of_elements(view_of(DType::int64, integers)), 16777218U);
  const std::vector<std::uint8_t> booleans{1, 0};
  EXPECT_EQ(sum_of_magnitudes(view_of(DType::boolean, booleans)), 1);
  EXPECT_EQ(xor_of_elements(view_of(DType::boolean, booleans)), 1U);
  const std::vector<std::int8_t> small{-1, 1};
  EXPECT_EQ(sum_of_magnitudes(view_of(DType::int8, small)), 2);
  EXPECT_EQ(xor_of_elements(view_of(DType::int8, small)), ~std::uint64_t{1});
  const std::vector<float> ones{1, 1, 1, 1};
  const TensorView complex = TensorView::row_major(DType::complex64, {2}, ones.data());
  EXPECT_NEAR(sum_of_magnitudes(complex), 2.8284271247461903, 1e-15);
  EXPECT_EQ(xor_of_elements(complex), 0U);
}

TEST(TorchHashes, NoNumberAndNoElements) {
  const std::vector<float> odd{1, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_TRUE(std::isnan(sum_of_magnitudes(view_of(DType::float32, odd))));
  const std::vector<float> large{-1, -std::numeric_limits<float>::infinity()};
  EXPECT_EQ(sum_of_magnitudes(view_of(DType::float32, large)), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sum_of_magnitudes(view_of(DType::float32, std::vector<float>())), 0);
  EXPECT_EQ(xor_of_elements(view_of(DType::int32, std::vector<std::int32_t>())), 0U);
}

TEST(TorchHashes, StridesAndMoreThanABlock) {
  std::vector<double> numbers(30000);
  double sum = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i % 2 ? -1.0 : 2.0;
  for (std::size_t i = 0; i < numbers.size(); i += 3) sum += std::abs(numbers[i]);
  TensorView every_third = TensorView::row_major(DType::float64, {10000}, numbers.data());
  every_third.strides = {3};
  EXPECT_EQ(sum_of_magnitudes(every_third), sum);
}

}  // namespace
}  // namespace opdump::math
