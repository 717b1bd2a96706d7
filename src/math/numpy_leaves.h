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

#include "math/numpy_metrics_kernels.h"
#include "math/simd_sources.h"

HWY_BEFORE_NAMESPACE();
namespace opdump::math::HWY_NAMESPACE {

// NumPy has eight running sums. Where a vector holds twice as many, two leaves are summed at once.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
constexpr std::size_t kLeaves = 2;
#else
constexpr std::size_t kLeaves = 1;
#endif
using Lanes = hn::CappedTag<float, 8 * kLeaves>;
using Wide = hn::CappedTag<double, 8>;
using Vec = hn::Vec<Lanes>;
using WideVec = hn::Vec<Wide>;
constexpr std::size_t kWidth = hn::MaxLanes(Lanes()), kParts = 8 * kLeaves / kWidth;
constexpr std::size_t kWideWidth = hn::MaxLanes(Wide()), kWideParts = 8 / kWideWidth;
using Parts = Vec[kParts];
using WideParts = WideVec[kLeaves][kWideParts];
constexpr std::size_t kAhead = 1024;
constexpr float kFloor = 0x1p-23f;  // what probabilities are raised to

// One side of the leaves that are summed at once.
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
HWY_INLINE Vec load(const Starts& side, std::size_t i, [[maybe_unused]] std::size_t k) {
  __builtin_prefetch(side.at[0] + kLeaves * i + kAhead);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const hn::Half<Lanes> eight;
  return hn::Combine(Lanes(), hn::LoadU(eight, side.at[1] + i), hn::LoadU(eight, side.at[0] + i));
#elif HWY_TARGET == HWY_SCALAR  // whose LoadU asks for alignment
  return hn::Set(Lanes(), load_one(side.at[0] + i + k));
#else
  return hn::LoadU(Lanes(), side.at[0] + i + k * kWidth);
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
template <class Use>
HWY_INLINE void fold(const Parts& parts, const Use& use) {
  const Lanes d;
  alignas(64) float sums[kLeaves][8];
  for (std::size_t k = 0; k < kParts; ++k) {
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

template <class Use>
HWY_INLINE void fold(const WideParts& parts, const Use& use) {
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

HWY_INLINE void clear(WideParts& parts) {
  for (auto& leaf : parts)
    for (WideVec& part : leaf) part = hn::Zero(Wide());
}

HWY_INLINE float largest(const Parts& parts) {
  Vec result = parts[0];
  for (const Vec& part : parts) result = hn::Max(result, part);
  return largest_lane(Lanes(), result);
}

HWY_INLINE float smallest(const Parts& parts) {
  Vec result = parts[0];
  for (const Vec& part : parts) result = hn::Min(result, part);
  return smallest_lane(Lanes(), result);
}

// Sums `count` elements, at most kBranch, as NumPy divides them. leaves(actual, golden, count, sums) sums
// kLeaves leaves of `count` elements each; all are the same one where two are not alike.
template <class Sums, class Leaves>
Sums sum_tree(const float* actual, const float* golden, std::size_t count, Leaves&& leaves) {
  const std::size_t left = left_half(count), right = count - left;
  const bool is_leaf = count <= kLeaf;
  if (is_leaf || (kLeaves == 2 && left == right && left <= kLeaf)) {
    Starts a, g;
    for (std::size_t leaf = 0; leaf < kLeaves; ++leaf) {
      a.at[leaf] = actual + (is_leaf ? 0 : leaf * left);
      g.at[leaf] = golden + (is_leaf ? 0 : leaf * left);
    }
    Sums sums[kLeaves];
    leaves.add(a, g, is_leaf ? count : left, sums);
    if (!is_leaf) sums[0].add(sums[kLeaves - 1]);
    return sums[0];
  }
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
