#include "math/small_floats.h"

#include <array>
#include <cstdint>
#include <limits>

namespace opdump::math {
namespace {

using model::DType;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

constexpr float power_of_two(int exponent) {
  float result = 1;
  for (; exponent > 0; --exponent) result *= 2;
  for (; exponent < 0; ++exponent) result /= 2;
  return result;
}

// Sign, exponent and mantissa without special values.
constexpr float plain_value(unsigned bits, int exponent_bits, int mantissa_bits, int bias) {
  const auto mantissa = static_cast<int>(bits & ((1u << mantissa_bits) - 1));
  const auto exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const bool is_negative = bits >> (exponent_bits + mantissa_bits) & 1;
  const int fraction = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  const float value =
      static_cast<float>(fraction) * power_of_two((exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
  return is_negative ? -value : value;
}

constexpr float e4m3_value(unsigned bits) {
  return (bits & 0x7f) == 0x7f ? (bits & 0x80 ? -kNan : kNan) : plain_value(bits, 4, 3, 7);
}

constexpr float e5m2_value(unsigned bits) {
  const bool is_negative = bits & 0x80;
  if ((bits & 0x7f) == 0x7c) return is_negative ? -kInfinity : kInfinity;
  if ((bits & 0x7f) > 0x7c) return is_negative ? -kNan : kNan;
  return plain_value(bits, 5, 2, 15);
}

constexpr float e8m0_value(unsigned bits) {
  return bits == 0xff ? kNan : power_of_two(static_cast<int>(bits) - 127);
}

constexpr float hifloat8_magnitude(unsigned bits) {
  if (bits == 0x6f) return kInfinity;
  if (bits < 8) return bits == 0 ? 0 : power_of_two(static_cast<int>(bits) - 23);
  int exponent_bits = 0, mantissa_bits = 3;
  if (bits >= 0x20) {
    exponent_bits = static_cast<int>(bits >> 5) + 1;
    mantissa_bits = 5 - exponent_bits;
  } else if (bits >= 0x10) {
    exponent_bits = 1;
  }
  const unsigned mantissa = bits & ((1u << mantissa_bits) - 1);
  const unsigned field = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
  int exponent = 0;
  if (exponent_bits > 0) {
    const unsigned hidden = 1u << (exponent_bits - 1);
    exponent = static_cast<int>(hidden | (field & (hidden - 1)));
    if (field & hidden) exponent = -exponent;
  }
  return static_cast<float>((1u << mantissa_bits) + mantissa) * power_of_two(exponent - mantissa_bits);
}

constexpr float hifloat8_value(unsigned bits) {
  if (bits == 0x80) return kNan;
  return bits & 0x80 ? -hifloat8_magnitude(bits & 0x7f) : hifloat8_magnitude(bits);
}

template <std::size_t kBits, typename Value>
constexpr auto table_of(Value value) {
  std::array<float, std::size_t{1} << kBits> table{};
  for (unsigned bits = 0; bits < table.size(); ++bits) table[bits] = value(bits);
  return table;
}

constexpr auto kE4m3 = table_of<8>(e4m3_value);
constexpr auto kE5m2 = table_of<8>(e5m2_value);
constexpr auto kE8m0 = table_of<8>(e8m0_value);
constexpr auto kHifloat8 = table_of<8>(hifloat8_value);
constexpr auto kE3m2 = table_of<6>([](unsigned bits) { return plain_value(bits, 3, 2, 3); });
constexpr auto kE2m3 = table_of<6>([](unsigned bits) { return plain_value(bits, 2, 3, 1); });
constexpr auto kE2m1 = table_of<4>([](unsigned bits) { return plain_value(bits, 2, 1, 1); });
constexpr auto kE1m2 = table_of<4>([](unsigned bits) { return plain_value(bits, 1, 2, 1); });

}  // namespace

std::span<const float> small_float_values(DType dtype) {
  switch (dtype) {
    case DType::float8_e4m3:
      return kE4m3;
    case DType::float8_e5m2:
      return kE5m2;
    case DType::float8_e8m0:
      return kE8m0;
    case DType::hifloat8:
      return kHifloat8;
    case DType::float6_e3m2:
      return kE3m2;
    case DType::float6_e2m3:
      return kE2m3;
    case DType::float4_e2m1:
      return kE2m1;
    case DType::float4_e1m2:
      return kE1m2;
    default:
      return {};
  }
}

}  // namespace opdump::math
