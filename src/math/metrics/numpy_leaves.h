// How leaves of NumPy's summation tree are summed (numpy_metrics_kernels.h), whatever is summed. Included
// once per SIMD target, by the files that Highway compiles repeatedly; it therefore has Highway's own kind of
// include guard.
#if defined(OPDUMP_MATH_NUMPY_LEAVES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef OPDUMP_MATH_NUMPY_LEAVES_H
#undef OPDUMP_MATH_NUMPY_LEAVES_H
#else
#define OPDUMP_MATH_NUMPY_LEAVES_H
#endif

#include <hwy/highway.h>
#include <cstring>

#include "math/metrics/numpy_sums.h"
#include "math/simd_sources.h"

HWY_BEFORE_NAMESPACE();
namespace opdump::math::HWY_NAMESPACE {

// NumPy has eight running sums. Several leaves are summed at once: as many as a vector holds, or more, where
// what is done with an element takes long.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
constexpr std::size_t kVectorLeaves = 2;
#else
constexpr std::size_t kVectorLeaves = 1;
#endif
using Lanes = hn::CappedTag<float, 8 * kVectorLeaves>;
using Wide = hn::CappedTag<double, 8>;
using Vec = hn::Vec<Lanes>;
using WideVec = hn::Vec<Wide>;
constexpr std::size_t kWidth = hn::MaxLanes(Lanes());
constexpr std::size_t kWideWidth = hn::MaxLanes(Wide()), kWideParts = 8 / kWideWidth;
template <std::size_t kLeaves>
constexpr std::size_t kParts = 8 * kLeaves / kWidth;
template <std::size_t kLeaves>
using Parts = Vec[kParts<kLeaves>];
template <std::size_t kLeaves>
using WideParts = WideVec[kLeaves][kWideParts];
constexpr std::size_t kAhead = 1024;
constexpr float kFloor = 0x1p-23f;  // what probabilities are raised to

// One side of the leaves that are summed at once.
template <std::size_t kLeaves>
struct Starts {
  const float* at[kLeaves];
};

// One element, wherever it lies.
HWY_INLINE float load_one(const float* at) {
  float value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Also asks for what comes some leaves later, which the processor does not do by itself in time.
template <std::size_t kLeaves>
HWY_INLINE Vec load(const Starts<kLeaves>& side, std::size_t i, std::size_t k) {
  __builtin_prefetch(side.at[0] + kLeaves * i + k * kWidth + kAhead);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const hn::Half<Lanes> eight;
  return hn::Combine(Lanes(), hn::LoadU(eight, side.at[2 * k + 1] + i), hn::LoadU(eight, side.at[2 * k] + i));
#elif HWY_TARGET == HWY_SCALAR  // whose LoadU asks for alignment
  return hn::Set(Lanes(), load_one(side.at[k / 8] + i + k % 8));
#else
  return hn::LoadU(Lanes(), side.at[k * kWidth / 8] + i + k * kWidth % 8);
#endif
}

HWY_INLINE WideVec load_wide(const float* leaf, std::size_t i, std::size_t k) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(Wide(), load_one(leaf + i + k));
#else
  const hn::Rebind<float, Wide> narrow;
  return hn::PromoteTo(Wide(), hn::LoadU(narrow, leaf + i + k * kWideWidth));
#endif
}

template <typename T>
T fold(const T (&sums)[8]) {
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// The eight running sums of each leaf to one, in NumPy's order: `use` gets the leaf and its sum.
template <std::size_t kLeaves, class Use>
HWY_INLINE void fold_parts(const Parts<kLeaves>& parts, const Use& use) {
  const Lanes d;
  alignas(64) float sums[kLeaves][8];
  for (std::size_t k = 0; k < kParts<kLeaves>; ++k) {
    Vec part = parts[k];
#if HWY_TARGET != HWY_SCALAR  // the first steps need no way through memory
    part = hn::Add(part, hn::Shuffle2301(part));
    part = hn::Add(part, hn::Shuffle1032(part));
#endif
    hn::Store(part, d, sums[0] + k * kWidth);
  }
  for (std::size_t leaf = 0; leaf < kLeaves; ++leaf)
    use(leaf, kWidth >= 4 ? sums[leaf][0] + sums[leaf][4] : fold(sums[leaf]));
}

template <std::size_t kLeaves, class Use>
HWY_INLINE void fold_wide(const WideParts<kLeaves>& parts, const Use& use) {
  for (std::size_t leaf = 0; leaf < kLeaves; ++leaf) {
    alignas(64) double sums[8];
    for (std::size_t k = 0; k < kWideParts; ++k) {
      WideVec part = parts[leaf][k];
#if HWY_TARGET != HWY_SCALAR
      part = hn::Add(part, hn::Shuffle01(part));
#endif
      hn::Store(part, Wide(), sums + k * kWideWidth);
    }
#if HWY_TARGET != HWY_SCALAR
    use(leaf, (sums[0] + sums[2]) + (sums[4] + sums[6]));
#else
    use(leaf, fold(sums));
#endif
  }
}

template <std::size_t kCount>
HWY_INLINE void fill(Vec (&parts)[kCount], float value) {
  for (Vec& part : parts) part = hn::Set(Lanes(), value);
}

template <std::size_t kLeaves>
HWY_INLINE void clear(WideVec (&parts)[kLeaves][kWideParts]) {
  for (auto& leaf : parts)
    for (WideVec& part : leaf) part = hn::Zero(Wide());
}

template <std::size_t kCount>
HWY_INLINE float largest(const Vec (&parts)[kCount]) {
  Vec result = parts[0];
  for (const Vec& part : parts) result = hn::Max(result, part);
  return largest_lane(Lanes(), result);
}

template <std::size_t kCount>
HWY_INLINE float smallest(const Vec (&parts)[kCount]) {
  Vec result = parts[0];
  for (const Vec& part : parts) result = hn::Min(result, part);
  return smallest_lane(Lanes(), result);
}

// The sum of the lanes of all vectors, in NumPy's order if they are the running sums of leaves that are
// alike: neighbours are added until one number is left.
template <class D, std::size_t kCount>
HWY_INLINE hn::TFromD<D> add_up(D d, hn::Vec<D> (&parts)[kCount]) {
#if HWY_TARGET != HWY_SCALAR
  for (std::size_t n = kCount / 2; n > 0; n /= 2)
    for (std::size_t i = 0; i < n; ++i)
      parts[i] = hn::Add(hn::ConcatEven(d, parts[2 * i + 1], parts[2 * i]),
                         hn::ConcatOdd(d, parts[2 * i + 1], parts[2 * i]));
  constexpr std::size_t kLast = hn::MaxLanes(D());
#else
  constexpr std::size_t kLast = kCount;
#endif
  alignas(64) hn::TFromD<D> lanes[kLast];
  for (std::size_t i = 0; i < kLast; i += hn::MaxLanes(D()))
    hn::Store(parts[i / hn::MaxLanes(D())], d, lanes + i);
  for (std::size_t n = kLast / 2; n > 0; n /= 2)
    for (std::size_t i = 0; i < n; ++i) lanes[i] = lanes[2 * i] + lanes[2 * i + 1];
  return lanes[0];
}

template <std::size_t kLeaves>
HWY_INLINE float add_up(Parts<kLeaves>& parts) {
  return add_up(Lanes(), parts);
}

template <std::size_t kLeaves>
HWY_INLINE double add_up_wide(WideParts<kLeaves>& parts) {
  WideVec flat[kLeaves * kWideParts];
  for (std::size_t i = 0; i < kLeaves * kWideParts; ++i) flat[i] = parts[i / kWideParts][i % kWideParts];
  return add_up(Wide(), flat);
}

// Leaves of `each` elements, one after the other.
template <std::size_t kLeaves>
HWY_INLINE Starts<kLeaves> starts_of(const float* first, std::size_t each) {
  Starts<kLeaves> starts;
  for (std::size_t leaf = 0; leaf < kLeaves; ++leaf) starts.at[leaf] = first + leaf * each;
  return starts;
}

// A whole branch: its leaves are alike.
template <class Leaves>
HWY_INLINE auto sum_branch(const float* actual, const float* golden, Leaves& leaves) {
  constexpr std::size_t kAll = kBranch / kLeaf, kAtOnce = Leaves::kAtOnce;
  typename Leaves::template Running<kAll> running;
  for (std::size_t first = 0; first < kAll; first += kAtOnce)
    leaves.template walk<kAtOnce>(starts_of<kAtOnce>(actual + first * kLeaf, kLeaf),
                                  starts_of<kAtOnce>(golden + first * kLeaf, kLeaf), kLeaf, first, running);
  return leaves.total(running);
}

// As many leaves as a vector holds, of `count` elements each; or one, that is all of them.
template <class Sums, class Leaves>
HWY_INLINE Sums sum_few(const float* actual, const float* golden, std::size_t count, bool is_one,
                        Leaves& leaves) {
  const auto a = starts_of<kVectorLeaves>(actual, is_one ? 0 : count),
             g = starts_of<kVectorLeaves>(golden, is_one ? 0 : count);
  const std::size_t whole = count / 8 * 8;
  typename Leaves::template Running<kVectorLeaves> running;
  leaves.template walk<kVectorLeaves>(a, g, whole, 0, running);
  Sums sums[kVectorLeaves];
  leaves.fold(running, sums);
  for (std::size_t leaf = 0; leaf < kVectorLeaves; ++leaf)
    for (std::size_t i = whole; i < count; ++i) leaves.add_pair(a.at[leaf] + i, g.at[leaf] + i, sums[leaf]);
  if (!is_one && kVectorLeaves == 2) sums[0].add(sums[kVectorLeaves - 1]);
  return sums[0];
}

// Sums `count` elements, at most kBranch, as NumPy divides them. `leaves` has running sums of several leaves
// at once, Running, which walk() makes; total() is the sum of all, fold() that of each leaf, to which
// add_pair() adds what it has beyond a multiple of eight.
template <class Sums, class Leaves>
Sums sum_tree(const float* actual, const float* golden, std::size_t count, Leaves& leaves) {
  if (count == kBranch) return sum_branch(actual, golden, leaves);
  const std::size_t left = left_half(count), right = count - left;
  const bool is_leaf = count <= kLeaf;
  if (is_leaf || (kVectorLeaves == 2 && left == right && left <= kLeaf))
    return sum_few<Sums>(actual, golden, is_leaf ? count : left, is_leaf, leaves);
  Sums sums = sum_tree<Sums>(actual, golden, left, leaves);
  sums.add(sum_tree<Sums>(actual + left, golden + left, right, leaves));
  return sums;
}

// Division by the same number many times. With a fused operation the product with the rounded reciprocal can
// be put right to what a division gives (Markstein), unless numbers are so small or large that the remainder
// underflows.
template <bool kFast>
struct Divisor {
  Vec divisor, reciprocal;
  HWY_INLINE explicit Divisor(float value)
      : divisor(hn::Set(Lanes(), value)), reciprocal(hn::Set(Lanes(), 1 / value)) {}

  HWY_INLINE Vec divide(Vec x) const {
    if constexpr (!kFast) return hn::Div(x, divisor);
    const auto quotient = hn::Mul(x, reciprocal);
    return hn::MulAdd(hn::NegMulAdd(quotient, divisor, x), reciprocal, quotient);
  }
};

HWY_INLINE bool is_fast(const PairScale& scale) {
  for (const SideScale* side : {&scale.actual, &scale.golden})
    for (const float divisor : {side->norm, side->range, side->weight})
      if (!(HWY_NATIVE_FMA && divisor >= 0x1p-60f && divisor <= 0x1p60f)) return false;
  return true;
}

// The unnormalised probability: from 0 to 1 by range, at least kFloor.
template <bool kFast>
struct Weights {
  Vec least;
  Divisor<kFast> range;
  HWY_INLINE explicit Weights(const SideScale& scale)
      : least(hn::Set(Lanes(), scale.min)), range(scale.range) {}

  HWY_INLINE Vec of(Vec x) const {
    return hn::Max(range.divide(hn::Sub(x, least)), hn::Set(Lanes(), kFloor));  // no NaN comes here
  }
};

HWY_INLINE float weight_of(float x, const SideScale& scale) {
  return std::max((x - scale.min) / scale.range, kFloor);
}

}  // namespace opdump::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
