// How each dtype becomes SIMD lanes of float or double, exactly. Included once per SIMD target, by the files
// that Highway compiles repeatedly; it therefore has Highway's own kind of include guard.
#if defined(OPDUMP_MATH_SIMD_SOURCES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPDUMP_MATH_SIMD_SOURCES_H
#undef OPDUMP_MATH_SIMD_SOURCES_H
#else
#define OPDUMP_MATH_SIMD_SOURCES_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace opdump::math::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using F64 = hn::ScalableTag<double>;

// The largest and smallest lane, infinities included, which the emulated reduction forgets: it begins at the
// lowest finite number.
template <class D>
HWY_INLINE hn::TFromD<D> largest_lane(D d, hn::Vec<D> v) {
#if HWY_TARGET == HWY_EMU128
  auto largest = hn::GetLane(v);
  for (std::size_t i = 1; i < hn::Lanes(d); ++i) largest = HWY_MAX(largest, hn::ExtractLane(v, i));
  return largest;
#else
  return hn::GetLane(hn::MaxOfLanes(d, v));
#endif
}
template <class D>
HWY_INLINE hn::TFromD<D> smallest_lane(D d, hn::Vec<D> v) {
  return -largest_lane(d, hn::Neg(v));
}

// Elements that are not converted: float and double.
template <typename T>
struct SameSource {
  using Element = T;
  using Lane = T;
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const T* at) {
    return hn::LoadU(d, at);
  }
};

struct BFloat16Source {
  using Element = std::uint16_t;
  using Lane = float;
  static HWY_INLINE hn::Vec<F32> load(F32 d, const std::uint16_t* at) {
    const hn::Rebind<std::uint16_t, F32> d16;
    const hn::RebindToUnsigned<F32> d32;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, at))));
  }
};

struct HalfSource {
  using Element = std::uint16_t;
  using Lane = float;
  static HWY_INLINE hn::Vec<F32> load(F32 d, const std::uint16_t* at) {
    const hn::Rebind<std::uint16_t, F32> d16;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    const hn::Rebind<hwy::float16_t, F32> half;
    return hn::PromoteTo(d, hn::BitCast(half, hn::LoadU(d16, at)));  // F16C
#else
    // The exponent of a half moved into place is 112 too small, which one exact multiplication puts right,
    // for subnormals too; only inf and NaN need their all-ones exponent back.
    const hn::RebindToUnsigned<F32> d32;
    const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, at));
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d32, 0x8000u)));
    const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(d32, 0x7fffu)));
    const auto finite = hn::BitCast(d32, hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112f)));
    const auto special = hn::Or(magnitude, hn::Set(d32, 0x7f800000u));
    const auto is_special = hn::Ge(hn::BitCast(d, magnitude), hn::BitCast(d, hn::Set(d32, 0x7c00u << 13)));
    const auto value = hn::IfThenElse(hn::RebindMask(d32, is_special), special, finite);
    return hn::BitCast(d, hn::Or(sign, value));
#endif
  }
};

// Integers of 8 and 16 bits are exact in float.
template <typename T>
struct SmallIntegerSource {
  using Element = T;
  using Lane = float;
  static HWY_INLINE hn::Vec<F32> load(F32 d, const T* at) {
    const hn::Rebind<T, F32> d_in;
    const hn::RebindToSigned<F32> d32;
    return hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d_in, at)));
  }
};

// Any byte that is not 0 is true.
struct BooleanSource {
  using Element = std::uint8_t;
  using Lane = float;
  static HWY_INLINE hn::Vec<F32> load(F32 d, const std::uint8_t* at) {
    const hn::Rebind<std::uint8_t, F32> d8;
    const hn::RebindToSigned<F32> d32;
    const auto byte = hn::PromoteTo(d32, hn::LoadU(d8, at));
    return hn::ConvertTo(d, hn::Min(byte, hn::Set(d32, 1)));
  }
};

struct Int32Source {
  using Element = std::int32_t;
  using Lane = double;
  static HWY_INLINE hn::Vec<F64> load(F64 d, const std::int32_t* at) {
    const hn::Rebind<std::int32_t, F64> d32;
    return hn::PromoteTo(d, hn::LoadU(d32, at));
  }
};

// The unsigned and 64-bit integers go through the bits of a double whose exponent makes its last place worth
// 1 (or 2^32): the integer put there is that number plus a known constant. The only rounding is that of the
// last addition, which makes the result the same as a conversion's.
struct UInt32Source {
  using Element = std::uint32_t;
  using Lane = double;
  static HWY_INLINE hn::Vec<F64> load(F64 d, const std::uint32_t* at) {
    const hn::Rebind<std::uint32_t, F64> d32;
    const hn::RebindToUnsigned<F64> d64;
    const auto value = hn::PromoteTo(d64, hn::LoadU(d32, at));
    const auto biased = hn::Or(value, hn::Set(d64, 0x4330000000000000u));  // 2^52 + value
    return hn::Sub(hn::BitCast(d, biased), hn::Set(d, 0x1p52));
  }
};

template <typename T>
struct LongSource {
  using Element = T;
  using Lane = double;
  static constexpr bool kSigned = static_cast<T>(-1) < T{0};
  using Bits = hn::RebindToUnsigned<F64>;

  static HWY_INLINE hn::Vec<Bits> bits(const T* at) {
    return hn::BitCast(Bits(), hn::LoadU(hn::Rebind<T, F64>(), at));
  }
  static HWY_INLINE hn::Vec<F64> load(F64 d, const T* at) { return number(d, bits(at)); }
  static HWY_INLINE hn::Vec<F64> number(F64 d, hn::Vec<Bits> value) {
    const Bits d64;
    const auto low = hn::Or(hn::And(value, hn::Set(d64, 0xffffffffu)), hn::Set(d64, 0x4330000000000000u));
    // 2^84 + high * 2^32; a signed number is first moved up by 2^63, which flips its top bit.
    const auto high =
        hn::Xor(hn::ShiftRight<32>(value), hn::Set(d64, kSigned ? 0x4530000080000000u : 0x4530000000000000u));
    const auto constant = hn::Set(d, kSigned ? 0x1p84 + 0x1p63 + 0x1p52 : 0x1p84 + 0x1p52);
    return hn::Add(hn::Sub(hn::BitCast(d, high), constant), hn::BitCast(d, low));
  }
};

// Longs whose last 11 bits became one that says whether any was set, where a double has no room for them: a
// double that is rounded to float gives what the long itself gives.
template <typename T>
struct StickyLongSource {
  using Element = T;
  using Lane = double;
  static HWY_INLINE hn::Vec<F64> load(F64 d, const T* at) {
    const typename LongSource<T>::Bits d64;
    const auto value = LongSource<T>::bits(at);
    const auto last = hn::Set(d64, 0x7ffu), zero = hn::Zero(d64);
    const auto is_any = hn::Ne(hn::And(value, last), zero);
    const auto rounded = hn::Or(hn::AndNot(last, value), hn::IfThenElseZero(is_any, hn::Set(d64, 0x800u)));
    const auto beyond = LongSource<T>::kSigned
                            ? hn::ShiftRight<54>(hn::Add(value, hn::Set(d64, std::uint64_t{1} << 53)))
                            : hn::ShiftRight<53>(value);
    return LongSource<T>::number(d, hn::IfThenElse(hn::Eq(beyond, zero), value, rounded));
  }
};

// What a source of doubles gives, rounded.
template <class Wide>
struct RoundedSource {
  using Element = typename Wide::Element;
  using Lane = float;
  static HWY_INLINE hn::Vec<F32> load(F32 d, const Element* at) {
    const F64 d64;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // whose DemoteTo makes infinities finite
    alignas(64) double wide[hn::MaxLanes(d)];
    alignas(64) float lanes[hn::MaxLanes(d)];
    for (std::size_t i = 0; i < hn::Lanes(d); i += hn::Lanes(d64))
      hn::Store(Wide::load(d64, at + i), d64, wide + i);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = static_cast<float>(wide[i]);
    return hn::Load(d, lanes);
#else
    const hn::Rebind<float, F64> half;
    return hn::Combine(d, hn::DemoteTo(half, Wide::load(d64, at + hn::Lanes(d64))),
                       hn::DemoteTo(half, Wide::load(d64, at)));
#endif
  }
};

struct RoundedInt32Source {
  using Element = std::int32_t;
  using Lane = float;
  static HWY_INLINE hn::Vec<F32> load(F32 d, const std::int32_t* at) {
    return hn::ConvertTo(d, hn::LoadU(hn::RebindToSigned<F32>(), at));
  }
};

}  // namespace opdump::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
