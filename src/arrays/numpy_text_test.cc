#include "arrays/numpy_text.h"

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstdint>

namespace opdump::arrays {
namespace {

using model::DType;
using model::TensorView;

template <typename T>
std::string text_of(DType dtype, T value) {
  return numpy_text(dtype, reinterpret_cast<const std::byte*>(&value));
}

TEST(NumpyText, ScalarsAreThoseOfNumpy) {
  EXPECT_EQ(text_of(DType::float32, 0.1F), "0.1");
  EXPECT_EQ(text_of(DType::float32, 3e-5F), "3e-05");
  EXPECT_EQ(text_of(DType::float32, 1e16F), "1e+16");
  EXPECT_EQ(text_of(DType::float64, 5.0), "5.0");
  EXPECT_EQ(text_of(DType::float16, std::uint16_t{0x2E66}), "0.1");
  EXPECT_EQ(text_of(DType::int8, std::int8_t{-3}), "-3");
  EXPECT_EQ(text_of(DType::uint64, UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(text_of(DType::boolean, std::uint8_t{1}), "True");
  EXPECT_EQ(text_of(DType::complex64, std::complex<float>(1, -2)), "(1-2j)");
  EXPECT_EQ(text_of(DType::bfloat16, std::uint16_t{0}), "?");
}

TEST(NumpyText, SummaryOfHalves) {
  const std::array<std::uint16_t, 6> halves = {0x0000, 0x3400, 0x3800, 0x3A00, 0x3C00, 0x3D00};
  EXPECT_EQ(numpy_summary(TensorView::row_major(DType::float16, {2, 3}, halves.data())),
            "[Shape: (2, 3)] [Dtype: float16] [Max: 1.25] [Min: 0.0] [Mean: 0.625]");
}

TEST(NumpyText, ANotANumberIsMaximumAndMinimum) {
  const std::array<float, 3> values = {1, __builtin_nanf(""), 3};
  EXPECT_EQ(numpy_summary(TensorView::row_major(DType::float32, {3}, values.data())),
            "[Shape: (3,)] [Dtype: float32] [Max: nan] [Min: nan] [Mean: nan]");
}

}  // namespace
}  // namespace opdump::arrays
