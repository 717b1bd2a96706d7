#include "weights/rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "math/convert.h"
#include "math/small_floats.h"

namespace opdump::weights {
namespace {

using model::DType;

float rounded(DType dtype, float number) {
  round_to(dtype, &number, 1);
  return number;
}

// Every number of a type stays as it is, and what lies between two becomes the nearer one, of ties the even
// one.
template <typename Bits>
void check_neighbours(DType dtype, Bits last, float (*value)(Bits)) {
  for (Bits bits = 0; bits < last; ++bits) {
    const float low = value(bits), high = value(static_cast<Bits>(bits + 1));
    ASSERT_EQ(rounded(dtype, low), low);
    ASSERT_EQ(rounded(dtype, -low), -low);
    const auto middle = static_cast<float>((static_cast<double>(low) + static_cast<double>(high)) / 2);
    ASSERT_EQ(rounded(dtype, middle), bits % 2 == 0 ? low : high) << middle;
    ASSERT_EQ(rounded(dtype, std::nextafter(middle, 0.0F)), low);
    ASSERT_EQ(rounded(dtype, std::nextafter(middle, INFINITY)), high);
  }
}

TEST(Rounding, HalfIsNearestWithTiesToEven) {
  check_neighbours<std::uint16_t>(DType::float16, 0x7BFF, math::float_from_half);
  EXPECT_EQ(rounded(DType::float16, 65519.0F), 65504.0F);
  EXPECT_TRUE(std::isinf(rounded(DType::float16, 65520.0F)));
  EXPECT_TRUE(std::isinf(rounded(DType::float16, 1e30F)));
}

TEST(Rounding, BrainFloatIsNearestWithTiesToEven) {
  check_neighbours<std::uint16_t>(DType::bfloat16, 0x7F7F, math::float_from_bfloat16);
  EXPECT_TRUE(std::isnan(rounded(DType::bfloat16, NAN)));
}

TEST(Rounding, FloatsOfEightBits) {
  check_neighbours<std::uint8_t>(DType::float8_e4m3, 0x7E, [](std::uint8_t bits) {
    return math::small_float_values(DType::float8_e4m3)[bits];
  });
  check_neighbours<std::uint8_t>(DType::float8_e5m2, 0x7B, [](std::uint8_t bits) {
    return math::small_float_values(DType::float8_e5m2)[bits];
  });
}

TEST(Rounding, DoubleGoesThroughFloat) {
  double number = 1 + 0x1p-40;
  round_to(DType::float32, &number, 1);
  EXPECT_EQ(number, 1);
}

}  // namespace
}  // namespace opdump::weights
