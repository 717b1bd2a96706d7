#include "math/convert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

#include "math/simd_targets.h"
#include "math/small_floats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/convert.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "math/simd_sources.h"

HWY_BEFORE_NAMESPACE();
namespace opdump::math::HWY_NAMESPACE {

// Bytes after those that are converted which are asked for: who converts mostly goes on there, with something
// else in between, so that the processor does not see it coming.
constexpr std::size_t kAhead = 4096;

HWY_INLINE void store(F32 d, hn::Vec<F32> v, float* out) { hn::StoreU(v, d, out); }
HWY_INLINE void store(F64 d, hn::Vec<F64> v, double* out) { hn::StoreU(v, d, out); }
HWY_INLINE void store(F32, hn::Vec<F32> v, double* out) {
  const F64 d64;
#if HWY_TARGET == HWY_SCALAR  // one lane
  hn::StoreU(hn::PromoteTo(d64, v), d64, out);
#else
  hn::StoreU(hn::PromoteTo(d64, hn::LowerHalf(v)), d64, out);
  hn::StoreU(hn::PromoteTo(d64, hn::UpperHalf(hn::Half<F32>(), v)), d64, out + hn::Lanes(d64));
#endif
}

template <class Source, typename Out>
void convert(const std::byte* in, Out* out, std::size_t count) {
  using Element = typename Source::Element;
  const hn::ScalableTag<typename Source::Lane> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* at = reinterpret_cast<const Element*>(in);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    __builtin_prefetch(in + i * sizeof(Element) + kAhead);
    store(d, Source::load(d, at + i), out + i);
  }
  if (i == count) return;
  alignas(64) Element rest[hn::MaxLanes(d)] = {};
  alignas(64) Out converted[hn::MaxLanes(d)];
  std::memcpy(rest, at + i, (count - i) * sizeof rest[0]);
  store(d, Source::load(d, rest), converted);
  std::memcpy(out + i, converted, (count - i) * sizeof converted[0]);
}

template <typename Out>
void convert_small(model::DType dtype, const std::byte* in, Out* out, std::size_t count) {
  using enum model::DType;
  switch (dtype) {
    case boolean:
      return convert<BooleanSource>(in, out, count);
    case int8:
      return convert<SmallIntegerSource<std::int8_t>>(in, out, count);
    case uint8:
      return convert<SmallIntegerSource<std::uint8_t>>(in, out, count);
    case int16:
      return convert<SmallIntegerSource<std::int16_t>>(in, out, count);
    case uint16:
      return convert<SmallIntegerSource<std::uint16_t>>(in, out, count);
    case float16:
      return convert<HalfSource>(in, out, count);
    case bfloat16:
      return convert<BFloat16Source>(in, out, count);
    case float32:
      return convert<SameSource<float>>(in, out, count);
    default:
      return;
  }
}

void convert_to_float(model::DType dtype, const std::byte* in, float* out, std::size_t count) {
  using enum model::DType;
  switch (dtype) {
    case int32:
      return convert<RoundedInt32Source>(in, out, count);
    case uint32:
      return convert<RoundedSource<UInt32Source>>(in, out, count);
    case int64:
      return convert<RoundedSource<StickyLongSource<std::int64_t>>>(in, out, count);
    case uint64:
      return convert<RoundedSource<StickyLongSource<std::uint64_t>>>(in, out, count);
    case float64:
      return convert<RoundedSource<SameSource<double>>>(in, out, count);
    default:
      return convert_small(dtype, in, out, count);
  }
}

void convert_to_double(model::DType dtype, const std::byte* in, double* out, std::size_t count) {
  using enum model::DType;
  switch (dtype) {
    case int32:
      return convert<Int32Source>(in, out, count);
    case uint32:
      return convert<UInt32Source>(in, out, count);
    case int64:
      return convert<LongSource<std::int64_t>>(in, out, count);
    case uint64:
      return convert<LongSource<std::uint64_t>>(in, out, count);
    case float64:
      return convert<SameSource<double>>(in, out, count);
    default:
      return convert_small(dtype, in, out, count);
  }
}

}  // namespace opdump::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace opdump::math {
namespace {

// Bits of element `index`; the first element lies in the lowest bits, but for uint1.
unsigned packed_bits(const std::byte* data, std::size_t index, unsigned bits) {
  const std::size_t first = index * bits;
  unsigned word = std::to_integer<unsigned>(data[first / 8]);
  if (first % 8 + bits > 8) word |= std::to_integer<unsigned>(data[first / 8 + 1]) << 8;
  return word >> first % 8 & ((1u << bits) - 1);
}

int packed_integer(model::DType dtype, const std::byte* data, std::size_t index) {
  if (dtype == model::DType::uint1) return std::to_integer<int>(data[index / 8]) >> (7 - index % 8) & 1;
  const model::DTypeInfo& info = model::dtype_info(dtype);
  const auto bits = static_cast<int>(packed_bits(data, index, info.bits));
  const int sign = info.kind == model::DTypeKind::signed_integer ? 1 << (info.bits - 1) : 0;
  return (bits ^ sign) - sign;
}

// Types of less than a byte have no negative indices: they are row-major.
float small_float(model::DType dtype, std::span<const float> values, const std::byte* data,
                  std::int64_t index) {
  const std::size_t bits = model::dtype_info(dtype).bits;
  if (bits == 8) return values[std::to_integer<std::size_t>(data[index])];
  return values[packed_bits(data, static_cast<std::size_t>(index), static_cast<unsigned>(bits))];
}

// What each byte unpacks to: element(byte, i) for i below kCount.
template <std::size_t kCount>
using Unpacked = std::array<std::array<std::byte, kCount>, 256>;
template <std::size_t kCount, typename Element>
constexpr Unpacked<kCount> table_of_bytes(const Element& element) {
  Unpacked<kCount> table{};
  for (int byte = 0; byte < 256; ++byte)
    for (std::size_t i = 0; i < kCount; ++i)
      table[static_cast<std::size_t>(byte)][i] = static_cast<std::byte>(element(byte, static_cast<int>(i)));
  return table;
}

template <std::size_t kCount>
void unpack(const Unpacked<kCount>& table, const std::byte* in, std::byte* out, std::size_t count) {
  for (; count >= kCount; count -= kCount, out += kCount)
    std::memcpy(out, table[std::to_integer<std::size_t>(*in++)].data(), kCount);
  if (count > 0) std::memcpy(out, table[std::to_integer<std::size_t>(*in)].data(), count);
}

// What has no kernel: packed integers and floats of up to 8 bits.
template <typename Out>
void convert_small_types(model::DType dtype, const std::byte* in, Out* out, std::size_t count) {
  const std::span<const float> values = small_float_values(dtype);
  if (values.empty()) {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Out>(packed_integer(dtype, in, i));
  } else if (values.size() == 256) {
    for (std::size_t i = 0; i < count; ++i) out[i] = values[std::to_integer<std::size_t>(in[i])];
  } else {
    for (std::size_t i = 0; i < count; ++i)
      out[i] = small_float(dtype, values, in, static_cast<std::int64_t>(i));
  }
}

bool is_small_type(model::DType dtype) {
  const std::uint8_t bits = model::dtype_info(dtype).bits;
  return (bits > 0 && bits < 8) || !small_float_values(dtype).empty();
}

}  // namespace

OPDUMP_SIMD_EXPORT(convert_to_float);
OPDUMP_SIMD_EXPORT(convert_to_double);

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
      return load<std::uint8_t>(data, index) != 0;
    case int8:
      return load<std::int8_t>(data, index);
    case uint8:
      return load<std::uint8_t>(data, index);
    case int16:
      return load<std::int16_t>(data, index);
    case uint16:
      return load<std::uint16_t>(data, index);
    case int32:
      return load<std::int32_t>(data, index);
    case uint32:
      return load<std::uint32_t>(data, index);
    case int64:
      return static_cast<double>(load<std::int64_t>(data, index));
    case uint64:
      return static_cast<double>(load<std::uint64_t>(data, index));
    case float16:
      return float_from_half(load<std::uint16_t>(data, index));
    case bfloat16:
      return float_from_bfloat16(load<std::uint16_t>(data, index));
    case float32:
      return load<float>(data, index);
    case float64:
      return load<double>(data, index);
    default:
      break;
  }
  if (!is_small_type(dtype)) return 0;
  const std::span<const float> values = small_float_values(dtype);
  return values.empty() ? packed_integer(dtype, data, static_cast<std::size_t>(index))
                        : small_float(dtype, values, data, index);
}

bool fits_float(model::DType dtype) {
  const model::DTypeInfo& info = model::dtype_info(dtype);
  switch (info.kind) {
    case model::DTypeKind::boolean:
      return true;
    case model::DTypeKind::floating:
      return info.bits <= 32;
    case model::DTypeKind::signed_integer:
    case model::DTypeKind::unsigned_integer:
      return info.bits <= 16;
    default:
      return false;
  }
}

void convert_elements(model::DType dtype, const std::byte* in, float* out, std::size_t count) {
  if (is_small_type(dtype))
    convert_small_types(dtype, in, out, count);
  else
    OPDUMP_SIMD(convert_to_float)(dtype, in, out, count);
}

void convert_elements(model::DType dtype, const std::byte* in, double* out, std::size_t count) {
  if (is_small_type(dtype))
    convert_small_types(dtype, in, out, count);
  else
    OPDUMP_SIMD(convert_to_double)(dtype, in, out, count);
}

void widen_bfloat16(const std::uint16_t* in, float* out, std::size_t count) {
  convert_elements(model::DType::bfloat16, reinterpret_cast<const std::byte*>(in), out, count);
}

void unpack_int4(const std::byte* in, std::int8_t* out, std::size_t count) {
  static constexpr auto kPairs =
      table_of_bytes<2>([](int byte, int i) { return ((byte >> i * 4 & 0xf) ^ 8) - 8; });
  unpack(kPairs, in, reinterpret_cast<std::byte*>(out), count);
}

void unpack_uint1(const std::byte* in, std::uint8_t* out, std::size_t count) {
  static constexpr auto kBits = table_of_bytes<8>([](int byte, int i) { return byte >> (7 - i) & 1; });
  unpack(kBits, in, reinterpret_cast<std::byte*>(out), count);
}

void unpack_integers(model::DType dtype, const std::byte* in, std::byte* out, std::size_t count) {
  if (dtype == model::DType::int4) return unpack_int4(in, reinterpret_cast<std::int8_t*>(out), count);
  if (dtype == model::DType::uint1) return unpack_uint1(in, reinterpret_cast<std::uint8_t*>(out), count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(packed_integer(dtype, in, i));
}

model::DType array_dtype(model::DType dtype) {
  using enum model::DTypeKind;
  const model::DTypeInfo& info = model::dtype_info(dtype);
  if (!info.npy_descr.empty() || info.kind == none) return info.dtype;
  if (info.kind == complex) return model::DType::complex64;
  if (info.kind == floating) return model::DType::float32;
  return info.kind == signed_integer ? model::DType::int8 : model::DType::uint8;
}

void convert_to_array(model::DType dtype, const std::byte* in, std::byte* out, std::size_t count) {
  using enum model::DTypeKind;
  const model::DTypeInfo& info = model::dtype_info(dtype);
  if (array_dtype(dtype) == dtype) {
    if (count > 0) std::memcpy(out, in, count * (info.bits / 8));
  } else if (info.kind == complex) {
    convert_elements(model::DType::float16, in, reinterpret_cast<float*>(out), 2 * count);
  } else if (info.kind == floating) {
    convert_elements(dtype, in, reinterpret_cast<float*>(out), count);
  } else {
    unpack_integers(dtype, in, out, count);
  }
}

}  // namespace opdump::math
#endif
