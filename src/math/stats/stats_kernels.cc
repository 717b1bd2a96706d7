#include "math/stats/stats_kernels.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/stats/stats_kernels.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "math/simd_sources.h"

HWY_BEFORE_NAMESPACE();
namespace opdump::math::HWY_NAMESPACE {

// max and min of what was seen so far and `value`, where a NaN in `value` is passed over.
template <class V>
HWY_INLINE V larger(V value, V seen) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Max(value, seen);  // MAXPS returns its second operand when one is NaN
#else
  return hn::IfThenElse(hn::Gt(value, seen), value, seen);
#endif
}
template <class V>
HWY_INLINE V smaller(V value, V seen) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Min(value, seen);
#else
  return hn::IfThenElse(hn::Lt(value, seen), value, seen);
#endif
}

// Sums and sums of squares in double: a vector of floats makes two of doubles.
template <typename Lane, bool kSum>
struct Sums;

template <bool kSum>
struct Sums<double, kSum> {
  using V = hn::Vec<F64>;
  V sum = hn::Zero(F64()), squares = hn::Zero(F64());
  HWY_INLINE Sums() {}  // an implicit one would be compiled for the wrong target
  HWY_INLINE void add(V v) {
    if constexpr (kSum) sum = hn::Add(sum, v);
    squares = hn::MulAdd(v, v, squares);
  }
  template <typename Element>
  HWY_INLINE void add(V v, const Element*) {
    add(v);
  }
};

template <bool kSum>
struct Sums<float, kSum> {
  Sums<double, kSum> lower, upper;
  HWY_INLINE Sums() {}
  // The vector may also lie `at` memory: converting what is loaded a second time is cheaper than taking a
  // vector apart.
  HWY_INLINE void add(hn::Vec<F32>, const float* at) {
    const hn::Rebind<float, F64> half;
    lower.add(hn::PromoteTo(F64(), hn::LoadU(half, at)));
#if HWY_TARGET != HWY_SCALAR  // which has one lane, in no halves
    upper.add(hn::PromoteTo(F64(), hn::LoadU(half, at + hn::Lanes(half))));
#endif
  }
  template <typename Other>
  HWY_INLINE void add(hn::Vec<F32> v, const Other*) {
#if HWY_TARGET == HWY_SCALAR
    lower.add(hn::PromoteTo(F64(), v));
#else
    lower.add(hn::PromoteTo(F64(), hn::LowerHalf(v)));
    upper.add(hn::PromoteTo(F64(), hn::UpperHalf(hn::Half<F32>(), v)));
#endif
  }
};

template <bool kSum>
HWY_INLINE void add_sums(const Sums<double, kSum>& part, StatPartial& total) {
  if constexpr (kSum) total.sum += hn::GetLane(hn::SumOfLanes(F64(), part.sum));
  total.squares += hn::GetLane(hn::SumOfLanes(F64(), part.squares));
}
template <bool kSum>
HWY_INLINE void add_sums(const Sums<float, kSum>& part, StatPartial& total) {
  Sums<double, kSum> both;
  both.sum = hn::Add(part.lower.sum, part.upper.sum);
  both.squares = hn::Add(part.lower.squares, part.upper.squares);
  add_sums(both, total);
}

template <class Source, bool kSum, bool kCounts>
struct Accumulator {
  using D = hn::ScalableTag<typename Source::Lane>;
  using DI = hn::RebindToSigned<D>;
  static constexpr auto kInfinity = std::numeric_limits<typename Source::Lane>::infinity();
  hn::Vec<D> max = hn::Set(D(), -kInfinity), min = hn::Set(D(), kInfinity);
  hn::Vec<DI> negative = hn::Zero(DI()), zero = hn::Zero(DI());
  Sums<typename Source::Lane, kSum> sums;
  HWY_INLINE Accumulator() {}

  HWY_INLINE void add(const typename Source::Element* at) {
    const auto v = Source::load(D(), at);
    max = larger(v, max);
    min = smaller(v, min);
    add_but_extremes(v, at);
  }

  // The first `count` lanes; the others must be zeros, which change no sum but count as zeros.
  HWY_INLINE void add_first(const typename Source::Element* at, std::size_t count) {
    const auto v = Source::load(D(), at);
    const auto real = hn::FirstN(D(), count);
    max = hn::IfThenElse(real, larger(v, max), max);
    min = hn::IfThenElse(real, smaller(v, min), min);
    add_but_extremes(v, at);
  }

 private:
  HWY_INLINE void add_but_extremes(hn::Vec<D> v, const typename Source::Element* at) {
    sums.add(v, at);
    if constexpr (kCounts) {
      const auto none = hn::Zero(D());
      // A true mask is -1.
      negative = hn::Sub(negative, hn::VecFromMask(DI(), hn::RebindMask(DI(), hn::Lt(v, none))));
      zero = hn::Sub(zero, hn::VecFromMask(DI(), hn::RebindMask(DI(), hn::Eq(v, none))));
    }
  }
};

template <typename Lane>
struct Block {
  Lane max, min;
  std::int64_t negative, zero;
};

template <class Source, bool kSum, bool kCounts>
HWY_INLINE Block<typename Source::Lane> reduce(const Accumulator<Source, kSum, kCounts>& a,
                                               const Accumulator<Source, kSum, kCounts>& b,
                                               StatPartial& total) {
  const hn::ScalableTag<typename Source::Lane> d;
  add_sums(a.sums, total);
  add_sums(b.sums, total);
  Block<typename Source::Lane> block{};
  block.max = largest_lane(d, hn::Max(a.max, b.max));
  block.min = smallest_lane(d, hn::Min(a.min, b.min));
  if constexpr (kCounts) {
    const hn::RebindToSigned<decltype(d)> di;
    block.negative = hn::GetLane(hn::SumOfLanes(di, hn::Add(a.negative, b.negative)));
    block.zero = hn::GetLane(hn::SumOfLanes(di, hn::Add(a.zero, b.zero)));
  }
  return block;
}

// Infinities and NaN are rare: they are counted in a second pass over a block that is known to hold some.
template <class Source>
void count_special(const typename Source::Element* at, std::size_t count, StatPartial& total) {
  using Lane = typename Source::Lane;
  const hn::ScalableTag<Lane> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto infinity = hn::Set(d, std::numeric_limits<Lane>::infinity());
  std::size_t nan = 0, positive = 0, negative = 0;
  const auto add = [&](hn::Vec<hn::ScalableTag<Lane>> v) HWY_ATTR {
    nan += hn::CountTrue(d, hn::IsNaN(v));
    positive += hn::CountTrue(d, hn::Eq(v, infinity));
    negative += hn::CountTrue(d, hn::Eq(v, hn::Neg(infinity)));
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) add(Source::load(d, at + i));
  if (i < count) {
    alignas(64) typename Source::Element rest[hn::MaxLanes(d)] = {};
    std::memcpy(rest, at + i, (count - i) * sizeof rest[0]);
    add(Source::load(d, rest));
  }
  total.nan_count += nan;
  total.positive_inf_count += positive;
  total.negative_inf_count += negative;
}

// The hardware prefetches within a page only; with more than a few instructions to a cache line the processor
// does not see the next page in time by itself.
template <typename Element>
HWY_INLINE void prefetch(const Element* at, std::size_t count) {
  constexpr std::size_t kAhead = 4096;
  for (std::size_t offset = 0; offset < count * sizeof(Element); offset += 64)
    hwy::Prefetch(reinterpret_cast<const std::byte*>(at) + kAhead + offset);
}

template <class Source, bool kSum, bool kCounts>
HWY_INLINE void add_block(const typename Source::Element* at, std::size_t count, StatPartial& total) {
  using Lane = typename Source::Lane;
  const hn::ScalableTag<Lane> d;
  const std::size_t lanes = hn::Lanes(d);
  Accumulator<Source, kSum, kCounts> a, b;
  StatPartial sums{};
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    prefetch(at + i, 2 * lanes);
    a.add(at + i);
    b.add(at + i + lanes);
  }
  if (i + lanes <= count) {
    a.add(at + i);
    i += lanes;
  }
  std::int64_t padding = 0;
  if (i < count) {
    alignas(64) typename Source::Element rest[hn::MaxLanes(d)] = {};
    std::memcpy(rest, at + i, (count - i) * sizeof rest[0]);
    b.add_first(rest, count - i);
    padding = static_cast<std::int64_t>(lanes - (count - i));
  }
  const Block<Lane> block = reduce(a, b, sums);
  const bool has_nan = std::isnan(sums.squares);
  const double max = block.max, min = block.min;
  if (max > total.max) total.max = max;
  if (min < total.min) total.min = min;
  total.sum += sums.sum;
  total.squares += sums.squares;
  total.has_nan |= has_nan;
  if constexpr (kCounts) {
    const std::uint64_t nan_before = total.nan_count;
    if (has_nan || std::isinf(max) || std::isinf(min)) count_special<Source>(at, count, total);
    const auto negative = static_cast<std::uint64_t>(block.negative);
    const auto zero = static_cast<std::uint64_t>(block.zero - padding);
    total.negative_count += negative;
    total.zero_count += zero;
    total.positive_count += count - negative - zero - (total.nan_count - nan_before);
  }
}

template <class Source, bool kSum, bool kCounts>
void add_all(const std::byte* data, std::size_t count, StatPartial& total) {
  // Small enough for a block to be in the first-level cache when it is looked at twice, and for lane counters
  // of 32 bits; large enough to hide the reduction.
  constexpr std::size_t kBlock = 4096;
  const auto* at = reinterpret_cast<const typename Source::Element*>(data);
  for (std::size_t i = 0; i < count; i += kBlock)
    add_block<Source, kSum, kCounts>(at + i, HWY_MIN(kBlock, count - i), total);
}

template <bool kSum, bool kCounts>
void add_dtype(model::DType dtype, const std::byte* data, std::size_t count, StatPartial& total) {
  using enum model::DType;
  switch (dtype) {
    case boolean:
      return add_all<BooleanSource, kSum, kCounts>(data, count, total);
    case int8:
      return add_all<SmallIntegerSource<std::int8_t>, kSum, kCounts>(data, count, total);
    case uint8:
      return add_all<SmallIntegerSource<std::uint8_t>, kSum, kCounts>(data, count, total);
    case int16:
      return add_all<SmallIntegerSource<std::int16_t>, kSum, kCounts>(data, count, total);
    case uint16:
      return add_all<SmallIntegerSource<std::uint16_t>, kSum, kCounts>(data, count, total);
    case int32:
      return add_all<Int32Source, kSum, kCounts>(data, count, total);
    case uint32:
      return add_all<UInt32Source, kSum, kCounts>(data, count, total);
    case int64:
      return add_all<LongSource<std::int64_t>, kSum, kCounts>(data, count, total);
    case uint64:
      return add_all<LongSource<std::uint64_t>, kSum, kCounts>(data, count, total);
    case float16:
      return add_all<HalfSource, kSum, kCounts>(data, count, total);
    case bfloat16:
      return add_all<BFloat16Source, kSum, kCounts>(data, count, total);
    case float32:
      return add_all<SameSource<float>, kSum, kCounts>(data, count, total);
    case float64:
      return add_all<SameSource<double>, kSum, kCounts>(data, count, total);
    default:
      return;
  }
}

void add_dense_simd(model::DType dtype, const std::byte* data, std::size_t count, StatNeeds needs,
                    StatPartial& total) {
  if (needs.counts) return add_dtype<true, true>(dtype, data, count, total);
  if (needs.sum) return add_dtype<true, false>(dtype, data, count, total);
  add_dtype<false, false>(dtype, data, count, total);
}

}  // namespace opdump::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace opdump::math {

OPDUMP_SIMD_EXPORT(add_dense_simd);

void add_dense(model::DType dtype, const std::byte* data, std::size_t count, StatNeeds needs,
               StatPartial& total) {
  OPDUMP_SIMD(add_dense_simd)(dtype, data, count, needs, total);
}

}  // namespace opdump::math
#endif
