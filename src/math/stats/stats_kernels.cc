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

// What is counted of each element. NaN and infinities are not: see count_special().
enum class Counting { nothing, zeros, signs };

template <class Source>
struct RunningExtremes {
  using D = hn::ScalableTag<typename Source::Lane>;
  static constexpr auto kInfinity = std::numeric_limits<typename Source::Lane>::infinity();
  hn::Vec<D> max = hn::Set(D(), -kInfinity), min = hn::Set(D(), kInfinity);
  HWY_INLINE RunningExtremes() {}

  HWY_INLINE void add(hn::Vec<D> v) {
    max = larger(v, max);
    min = smaller(v, min);
  }
  HWY_INLINE void add_first(hn::Vec<D> v, std::size_t count) {
    const auto real = hn::FirstN(D(), count);
    max = hn::IfThenElse(real, larger(v, max), max);
    min = hn::IfThenElse(real, smaller(v, min), min);
  }
};

// Both counts in one register, as a block has less than 2^16 elements.
template <class Source, Counting kCounting>
struct RunningCounts {
  using D = hn::ScalableTag<typename Source::Lane>;
  using DI = hn::RebindToSigned<D>;
  static constexpr int kNegativeShift = 16;
  hn::Vec<DI> counts = hn::Zero(DI());
  HWY_INLINE RunningCounts() {}

  HWY_INLINE void add(hn::Vec<D> v) {
    const auto none = hn::Zero(D());
    // A true mask is -1.
    if constexpr (kCounting == Counting::signs)
      counts = hn::Sub(counts, hn::ShiftLeft<kNegativeShift>(
                                   hn::VecFromMask(DI(), hn::RebindMask(DI(), hn::Lt(v, none)))));
    if constexpr (kCounting != Counting::nothing)
      counts = hn::Sub(counts, hn::VecFromMask(DI(), hn::RebindMask(DI(), hn::Eq(v, none))));
  }
};

// Two vectors at a time. What takes several cycles has two chains: the sums, and where there are registers
// enough, the extremes. With AVX2's sixteen, counting beside two chains of all would go through memory.
template <class Source, bool kSum, Counting kCounting>
struct Accumulator {
  using D = hn::ScalableTag<typename Source::Lane>;
  using Element = typename Source::Element;
  static constexpr bool kHasOther = kCounting == Counting::nothing;
  RunningExtremes<Source> extremes, other;
  RunningCounts<Source, kCounting> counts;
  Sums<typename Source::Lane, kSum> a, b;
  HWY_INLINE Accumulator() {}

  HWY_INLINE void add(const Element* at) {
    const auto v = Source::load(D(), at);
    extremes.add(v);
    a.add(v, at);
    counts.add(v);
  }
  HWY_INLINE void add_pair(const Element* at) {
    add(at);
    at += hn::Lanes(D());
    const auto v = Source::load(D(), at);
    (kHasOther ? other : extremes).add(v);
    b.add(v, at);
    counts.add(v);
  }
  // The first `count` lanes; the others must be zeros, which change no sum but count as zeros.
  HWY_INLINE void add_first(const Element* at, std::size_t count) {
    const auto v = Source::load(D(), at);
    extremes.add_first(v, count);
    b.add(v, at);
    counts.add(v);
  }
};

template <typename Lane>
struct Block {
  Lane max, min;
  std::int64_t negative, zero;
};

template <class Source, bool kSum, Counting kCounting>
HWY_INLINE Block<typename Source::Lane> reduce(const Accumulator<Source, kSum, kCounting>& all,
                                               StatPartial& total) {
  const hn::ScalableTag<typename Source::Lane> d;
  add_sums(all.a, total);
  add_sums(all.b, total);
  Block<typename Source::Lane> block{};
  block.max = largest_lane(d, hn::Max(all.extremes.max, all.other.max));
  block.min = smallest_lane(d, hn::Min(all.extremes.min, all.other.min));
  if constexpr (kCounting != Counting::nothing) {
    const hn::RebindToSigned<decltype(d)> di;
    const std::int64_t counts = hn::GetLane(hn::SumOfLanes(di, all.counts.counts));
    block.negative = counts >> all.counts.kNegativeShift;
    block.zero = counts & ((1 << all.counts.kNegativeShift) - 1);
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

template <class Source, bool kSum, Counting kCounting>
HWY_INLINE void add_block(const typename Source::Element* at, std::size_t count, bool counts_special,
                          StatPartial& total) {
  using Lane = typename Source::Lane;
  const hn::ScalableTag<Lane> d;
  const std::size_t lanes = hn::Lanes(d);
  Accumulator<Source, kSum, kCounting> all;
  StatPartial sums{};
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    prefetch(at + i, 2 * lanes);
    all.add_pair(at + i);
  }
  if (i + lanes <= count) {
    all.add(at + i);
    i += lanes;
  }
  std::int64_t padding = 0;
  if (i < count) {
    alignas(64) typename Source::Element rest[hn::MaxLanes(d)] = {};
    std::memcpy(rest, at + i, (count - i) * sizeof rest[0]);
    all.add_first(rest, count - i);
    padding = static_cast<std::int64_t>(lanes - (count - i));
  }
  const Block<Lane> block = reduce(all, sums);
  const bool has_nan = std::isnan(sums.squares);
  const double max = block.max, min = block.min;
  if (max > total.max) total.max = max;
  if (min < total.min) total.min = min;
  total.sum += sums.sum;
  total.squares += sums.squares;
  total.has_nan |= has_nan;
  const std::uint64_t nan_before = total.nan_count;
  if (counts_special && (has_nan || std::isinf(max) || std::isinf(min)))
    count_special<Source>(at, count, total);
  const auto zero = static_cast<std::uint64_t>(block.zero - padding);
  if constexpr (kCounting != Counting::nothing) total.zero_count += zero;
  if constexpr (kCounting == Counting::signs) {
    const auto negative = static_cast<std::uint64_t>(block.negative);
    total.negative_count += negative;
    total.positive_count += count - negative - zero - (total.nan_count - nan_before);
  }
}

template <class Source, bool kSum, Counting kCounting>
void add_all(const std::byte* data, std::size_t count, bool counts_special, StatPartial& total) {
  // Small enough for a block to be in the first-level cache when it is looked at twice, and for lane counters
  // of 32 bits; large enough to hide the reduction.
  constexpr std::size_t kBlock = 4096;
  const auto* at = reinterpret_cast<const typename Source::Element*>(data);
  for (std::size_t i = 0; i < count; i += kBlock)
    add_block<Source, kSum, kCounting>(at + i, HWY_MIN(kBlock, count - i), counts_special, total);
}

template <bool kSum, Counting kCounting>
void add_dtype(model::DType dtype, const std::byte* data, std::size_t count, bool counts_special,
               StatPartial& total) {
  using enum model::DType;
  switch (dtype) {
    case boolean:
      return add_all<BooleanSource, kSum, kCounting>(data, count, counts_special, total);
    case int8:
      return add_all<SmallIntegerSource<std::int8_t>, kSum, kCounting>(data, count, counts_special, total);
    case uint8:
      return add_all<SmallIntegerSource<std::uint8_t>, kSum, kCounting>(data, count, counts_special, total);
    case int16:
      return add_all<SmallIntegerSource<std::int16_t>, kSum, kCounting>(data, count, counts_special, total);
    case uint16:
      return add_all<SmallIntegerSource<std::uint16_t>, kSum, kCounting>(data, count, counts_special, total);
    case int32:
      return add_all<Int32Source, kSum, kCounting>(data, count, counts_special, total);
    case uint32:
      return add_all<UInt32Source, kSum, kCounting>(data, count, counts_special, total);
    case int64:
      return add_all<LongSource<std::int64_t>, kSum, kCounting>(data, count, counts_special, total);
    case uint64:
      return add_all<LongSource<std::uint64_t>, kSum, kCounting>(data, count, counts_special, total);
    case float16:
      return add_all<HalfSource, kSum, kCounting>(data, count, counts_special, total);
    case bfloat16:
      return add_all<BFloat16Source, kSum, kCounting>(data, count, counts_special, total);
    case float32:
      return add_all<SameSource<float>, kSum, kCounting>(data, count, counts_special, total);
    case float64:
      return add_all<SameSource<double>, kSum, kCounting>(data, count, counts_special, total);
    default:
      return;
  }
}

void add_dense_simd(model::DType dtype, const std::byte* data, std::size_t count, StatNeeds needs,
                    StatPartial& total) {
  const bool special = needs.special_counts || needs.counts;
  if (needs.counts) return add_dtype<true, Counting::signs>(dtype, data, count, special, total);
  if (needs.zero_count) return add_dtype<true, Counting::zeros>(dtype, data, count, special, total);
  if (needs.sum) return add_dtype<true, Counting::nothing>(dtype, data, count, special, total);
  add_dtype<false, Counting::nothing>(dtype, data, count, special, total);
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
