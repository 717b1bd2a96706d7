// The floats of up to 8 bits: every pattern, against their definitions and against what the original
// converter wrote.
#include "math/small_floats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "math/convert.h"

namespace opdump::math {
namespace {

using model::DType;

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

// A sign, `exponent_bits`, `mantissa_bits`, as the OCP formats have them, in double.
double by_definition(unsigned bits, int exponent_bits, int mantissa_bits, int bias) {
  const double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) % (1 << exponent_bits);
  const double fraction = static_cast<double>(bits % (1u << mantissa_bits)) / (1 << mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1 + fraction, exponent - bias);
}

// HiFloat8 read from left to right.
double hifloat8_by_definition(unsigned bits) {
  std::string text;
  for (int bit = 6; bit >= 0; --bit) text += bits >> bit & 1 ? '1' : '0';
  const double sign = bits & 0x80 ? -1 : 1;
  if (bits == 0x80) return NAN;
  if (text == "1101111") return sign * INFINITY;
  const auto number = [](const std::string& digits) {
    return digits.empty() ? 0 : std::stoi(digits, nullptr, 2);
  };
  const std::pair<std::string, int> prefixes[] = {{"11", 4}, {"10", 3}, {"01", 2}, {"001", 1}, {"0001", 0}};
  for (const auto& [prefix, exponent_bits] : prefixes) {
    if (!text.starts_with(prefix)) continue;
    const std::string exponent = text.substr(prefix.size(), static_cast<std::size_t>(exponent_bits));
    const std::string mantissa = text.substr(prefix.size() + exponent.size());
    int power = 0;
    if (exponent_bits > 0) power = number("1" + exponent.substr(1)) * (exponent[0] == '1' ? -1 : 1);
    return sign * std::ldexp(1 + std::ldexp(number(mantissa), -static_cast<int>(mantissa.size())), power);
  }
  const int mantissa = number(text.substr(4));
  return mantissa == 0 ? 0 : sign * std::ldexp(1, mantissa - 23);
}

TEST(SmallFloats, EveryPattern) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    SCOPED_TRACE(bits);
    const auto value = [&](DType dtype) { return small_float_values(dtype)[bits]; };
    const bool e4m3_nan = bits % 128 == 127;
    EXPECT_TRUE(same(value(DType::float8_e4m3), e4m3_nan ? NAN : by_definition(bits, 4, 3, 7)));
    EXPECT_TRUE(same(value(DType::float8_e5m2), float_from_half(static_cast<std::uint16_t>(bits << 8))));
    EXPECT_TRUE(
        same(value(DType::float8_e8m0), bits == 255 ? NAN : std::ldexp(1, static_cast<int>(bits) - 127)));
    EXPECT_TRUE(same(value(DType::hifloat8), hifloat8_by_definition(bits)));
  }
  for (unsigned bits = 0; bits < 64; ++bits) {
    EXPECT_TRUE(same(small_float_values(DType::float6_e3m2)[bits], by_definition(bits, 3, 2, 3))) << bits;
    EXPECT_TRUE(same(small_float_values(DType::float6_e2m3)[bits], by_definition(bits, 2, 3, 1))) << bits;
  }
  for (unsigned bits = 0; bits < 16; ++bits) {
    EXPECT_TRUE(same(small_float_values(DType::float4_e2m1)[bits], by_definition(bits, 2, 1, 1))) << bits;
    EXPECT_TRUE(same(small_float_values(DType::float4_e1m2)[bits], by_definition(bits, 1, 2, 1))) << bits;
  }
  EXPECT_EQ(small_float_values(DType::float6_e3m2)[31], 28);
  EXPECT_EQ(small_float_values(DType::float4_e2m1)[7], 6);
  EXPECT_EQ(small_float_values(DType::float8_e4m3)[0x7e], 448);
  EXPECT_EQ(small_float_values(DType::hifloat8)[0x08], 1);
  EXPECT_EQ(small_float_values(DType::hifloat8)[0x6e], 32768);
  EXPECT_TRUE(small_float_values(DType::float16).empty());
}

// Element `index` of a packed array, bit by bit.
unsigned bits_of(const std::vector<std::byte>& bytes, std::size_t index, unsigned bits) {
  unsigned value = 0;
  for (unsigned bit = 0; bit < bits; ++bit) {
    const std::size_t at = index * bits + bit;
    value |= (std::to_integer<unsigned>(bytes[at / 8]) >> at % 8 & 1) << bit;
  }
  return value;
}

TEST(ConvertToArray, PackedElements) {
  std::vector<std::byte> bytes(256 * 3);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 256);
  for (const DType dtype : {DType::float6_e3m2, DType::float6_e2m3, DType::float4_e2m1, DType::float4_e1m2}) {
    const unsigned bits = model::dtype_info(dtype).bits;
    EXPECT_EQ(array_dtype(dtype), DType::float32);
    for (std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5}, bytes.size() * 8 / bits}) {
      std::vector<float> out(count + 1, 7.5f);
      convert_to_array(dtype, bytes.data(), reinterpret_cast<std::byte*>(out.data()), count);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(out[i], small_float_values(dtype)[bits_of(bytes, i, bits)]);
        ASSERT_EQ(out[i], element_as_double(dtype, bytes.data(), static_cast<std::int64_t>(i)));
      }
      EXPECT_EQ(out[count], 7.5f);
    }
  }
  std::vector<std::int8_t> out(bytes.size() * 4);
  convert_to_array(DType::int2, bytes.data(), reinterpret_cast<std::byte*>(out.data()), out.size());
  constexpr int kInt2[] = {0, 1, -2, -1};
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], kInt2[bits_of(bytes, i, 2)]);
  convert_to_array(DType::uint2, bytes.data(), reinterpret_cast<std::byte*>(out.data()), out.size());
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], static_cast<int>(bits_of(bytes, i, 2)));
  convert_to_array(DType::int4, bytes.data(), reinterpret_cast<std::byte*>(out.data()), bytes.size() * 2);
  for (std::size_t i = 0; i < bytes.size() * 2; ++i)
    ASSERT_EQ(out[i], static_cast<int>(bits_of(bytes, i, 4) ^ 8) - 8);
}

TEST(ConvertToArray, SixteenBitTypes) {
  std::vector<std::uint16_t> in(65536);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint16_t>(i);
  const auto* bytes = reinterpret_cast<const std::byte*>(in.data());
  std::vector<float> out(65536);
  EXPECT_EQ(array_dtype(DType::bfloat16), DType::float32);
  convert_to_array(DType::bfloat16, bytes, reinterpret_cast<std::byte*>(out.data()), in.size());
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_TRUE(same(out[i], float_from_bfloat16(in[i])));
  EXPECT_EQ(array_dtype(DType::complex32), DType::complex64);
  convert_to_array(DType::complex32, bytes, reinterpret_cast<std::byte*>(out.data()), in.size() / 2);
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_TRUE(same(out[i], float_from_half(in[i])));
  EXPECT_EQ(array_dtype(DType::float16), DType::float16);
  convert_to_array(DType::float16, bytes, reinterpret_cast<std::byte*>(out.data()), in.size());
  EXPECT_EQ(std::memcmp(out.data(), in.data(), 2 * in.size()), 0);
}

TEST(ConvertToArray, EveryDTypeHasAnArray) {
  for (int number = 1; number < model::kDTypeCount; ++number) {
    const DType dtype = array_dtype(static_cast<DType>(number));
    EXPECT_FALSE(model::dtype_info(dtype).npy_descr.empty()) << number;
  }
  EXPECT_EQ(array_dtype(DType::undefined), DType::undefined);
}

// The doubles that the original made of the bytes 0 to 255.
std::vector<double> original_values(int number) {
  const std::string name =
      "T.t" + std::to_string(number) + ".1.2.17000000000020" + std::to_string(number) + ".output.0.npy";
  std::ifstream file(
      std::filesystem::path(OPDUMP_SOURCE_DIR) / "../shared/testdata/cann/expected_new/dtypes" / name,
      std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<double> values(text.size() / sizeof(double));
  if (text.size() < 256 * 8) return {};
  values.resize(256);
  std::memcpy(values.data(), text.data() + text.size() - 2048, 2048);
  return values;
}

TEST(SmallFloats, AsTheOriginalButForItsMistakes) {
  struct Case {
    int number;
    DType dtype;
    std::vector<unsigned> wrong;  // patterns, without the sign, that the original decodes wrongly
  };
  // HiFloat8: it reads the prefixes 001 and 0001 as if they were two bits long.
  std::vector<unsigned> short_prefixes = {0x6f};
  for (unsigned bits = 0x08; bits < 0x20; ++bits) short_prefixes.push_back(bits);
  const Case cases[] = {{33, DType::hifloat8, short_prefixes},
                        {34, DType::float8_e5m2, {0x7c}},
                        {35, DType::float8_e4m3, {0x7f}}};
  for (const Case& test : cases) {
    const std::vector<double> expected = original_values(test.number);
    if (expected.empty()) GTEST_SKIP() << "no reference data";
    for (unsigned bits = 0; bits < 256; ++bits) {
      if (std::ranges::count(test.wrong, bits & 0x7f) > 0) continue;
      EXPECT_TRUE(same(small_float_values(test.dtype)[bits], expected[bits]))
          << model::dtype_info(test.dtype).name << " " << bits << ": " << expected[bits];
    }
  }
}

TEST(SmallFloats, NegativeIndices) {
  const std::array<std::byte, 3> bytes{std::byte{0x38}, std::byte{0x40}, std::byte{0x48}};  // 1, 2, 4
  EXPECT_EQ(element_as_double(DType::float8_e4m3, &bytes[2], -1), 2);
  EXPECT_EQ(element_as_double(DType::float8_e4m3, &bytes[2], -2), 1);
  EXPECT_EQ(element_as_double(DType::float8_e4m3, &bytes[2], 0), 4);
}

}  // namespace
}  // namespace opdump::math
