#include "math/convert.h"

#include <bit>
#include <cstring>

#include "math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/convert.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "math/simd_sources.h"

HWY_BEFORE_NAMESPACE();
namespace opdump::math::HWY_NAMESPACE {

template <class Source>
HWY_INLINE void widen(const std::uint16_t* in, float* out, std::size_t count) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(Source::load(d, in + i), d, out + i);
  if (i == count) return;
  alignas(64) std::uint16_t rest_in[hn::MaxLanes(d)] = {};
  alignas(64) float rest_out[hn::MaxLanes(d)];
  for (std::size_t k = i; k < count; ++k) rest_in[k - i] = in[k];
  hn::Store(Source::load(d, rest_in), d, rest_out);
  for (std::size_t k = i; k < count; ++k) out[k] = rest_out[k - i];
}

void widen_half_simd(const std::uint16_t* in, float* out, std::size_t count) {
  widen<HalfSource>(in, out, count);
}
void widen_bfloat16_simd(const std::uint16_t* in, float* out, std::size_t count) {
  widen<BFloat16Source>(in, out, count);
}

}  // namespace opdump::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace opdump::math {
namespace {

template <typename T>
T read_element(const std::byte* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof value);
  return value;
}

double unpacked_element(const std::byte* data, std::int64_t index, bool is_int4) {
  if (is_int4) {
    std::int8_t pair[2];
    unpack_int4(data + index / 2, pair, 2);
    return pair[index % 2];
  }
  std::uint8_t bits[8];
  unpack_uint1(data + index / 8, bits, 8);
  return bits[index % 8];
}

}  // namespace

HWY_EXPORT(widen_half_simd);
HWY_EXPORT(widen_bfloat16_simd);

float float_from_half(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu, mantissa = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent > 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  if (mantissa == 0) return std::bit_cast<float>(sign);
  // Subnormal: move the leading 1 to the hidden place.
  const std::uint32_t shift = static_cast<std::uint32_t>(std::countl_zero(mantissa)) - 21;
  return std::bit_cast<float>(sign | (113 - shift) << 23 | (mantissa << shift & 0x3ffu) << 13);
}

float float_from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

double element_as_double(model::DType dtype, const std::byte* data, std::int64_t index) {
  using enum model::DType;
  switch (dtype) {
    case boolean:
      return read_element<std::uint8_t>(data, index) != 0;
    case int8:
      return read_element<std::int8_t>(data, index);
    case uint8:
      return read_element<std::uint8_t>(data, index);
    case int16:
      return read_element<std::int16_t>(data, index);
    case uint16:
      return read_element<std::uint16_t>(data, index);
    case int32:
      return read_element<std::int32_t>(data, index);
    case uint32:
      return read_element<std::uint32_t>(data, index);
    case int64:
      return static_cast<double>(read_element<std::int64_t>(data, index));
    case uint64:
      return static_cast<double>(read_element<std::uint64_t>(data, index));
    case float16:
      return float_from_half(read_element<std::uint16_t>(data, index));
    case bfloat16:
      return float_from_bfloat16(read_element<std::uint16_t>(data, index));
    case float32:
      return read_element<float>(data, index);
    case float64:
      return read_element<double>(data, index);
    case int4:
    case uint1:
      return unpacked_element(data, index, dtype == int4);
    default:
      return 0;
  }
}

void widen_half(const std::uint16_t* in, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(widen_half_simd)(in, out, count);
}

void widen_bfloat16(const std::uint16_t* in, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(widen_bfloat16_simd)(in, out, count);
}

void unpack_int4(const std::byte* in, std::int8_t* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const int nibble = std::to_integer<int>(in[i / 2]) >> (i % 2 * 4) & 0xf;
    out[i] = static_cast<std::int8_t>((nibble ^ 8) - 8);
  }
}

void unpack_uint1(const std::byte* in, std::uint8_t* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    out[i] = std::to_integer<std::uint8_t>(in[i / 8]) >> (7 - i % 8) & 1;
}

}  // namespace opdump::math
#endif
