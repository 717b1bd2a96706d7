#include "weights/rounding.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace opdump::weights {
namespace {

using model::DType;

struct RoundingForm {
  int mantissa_bits, least_exponent;
  float largest;
  bool has_infinity;
};
constexpr RoundingForm kHalf{10, -14, 65504.0F, true}, kE4m3{3, -6, 448.0F, false},
    kE5m2{2, -14, 57344.0F, true};

// A number of which the last bit is as large as the last bit of the rounded one: adding it and taking it away
// leaves the rounded one.
float round_number(const RoundingForm& form, float number) {
  if (!std::isfinite(number) || number == 0) return number;
  const int exponent = static_cast<int>(std::bit_cast<std::uint32_t>(number) >> 23 & 0xFF) - 127;
  const int step = std::max(exponent, form.least_exponent) - form.mantissa_bits;
  if (exponent > 20) return form.has_infinity ? std::copysign(INFINITY, number) : NAN;
  const float magic = 1.5F * std::bit_cast<float>(static_cast<std::uint32_t>(step + 23 + 127) << 23);
  const float sum = number + magic;
  const float rounded = sum - magic;
  if (std::abs(rounded) <= form.largest) return std::copysign(rounded, number);
  return form.has_infinity ? std::copysign(INFINITY, number) : NAN;
}

float round_bfloat16(float number) {
  auto bits = std::bit_cast<std::uint32_t>(number);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return number;  // NaN
  bits += 0x7FFF + (bits >> 16 & 1);
  return std::bit_cast<float>(bits & 0xFFFF0000);
}

}  // namespace

bool can_round_to(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16 ||
         dtype == DType::float8_e4m3 || dtype == DType::float8_e5m2;
}

void round_to(DType dtype, float* numbers, std::size_t count) {
  if (dtype == DType::bfloat16)
    for (std::size_t i = 0; i < count; ++i) numbers[i] = round_bfloat16(numbers[i]);
  if (dtype == DType::float16)
    for (std::size_t i = 0; i < count; ++i) numbers[i] = round_number(kHalf, numbers[i]);
  if (dtype == DType::float8_e4m3)
    for (std::size_t i = 0; i < count; ++i) numbers[i] = round_number(kE4m3, numbers[i]);
  if (dtype == DType::float8_e5m2)
    for (std::size_t i = 0; i < count; ++i) numbers[i] = round_number(kE5m2, numbers[i]);
}

void round_to(DType dtype, double* numbers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    auto number = static_cast<float>(numbers[i]);
    round_to(dtype, &number, 1);
    numbers[i] = static_cast<double>(number);
  }
}

}  // namespace opdump::weights
