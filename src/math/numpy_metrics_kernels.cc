// Compiled without contraction of a * b + c: NumPy rounds after each operation.
#include "math/numpy_metrics_kernels.h"

#include <cmath>

#include "math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/numpy_metrics_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "math/numpy_leaves.h"

HWY_BEFORE_NAMESPACE();
namespace opdump::math::HWY_NAMESPACE {

constexpr float kTiny = 0x1p-52f;

// |a / g - 1| where g is not nearly 0.
HWY_INLINE Vec relative_error(Vec a, Vec g) {
  const Lanes d;
  const auto error = hn::Abs(hn::Sub(hn::Div(a, g), hn::Set(d, 1.0f)));
  return hn::IfThenElseZero(hn::Gt(hn::Abs(g), hn::Set(d, kTiny)), error);
}

// What a leaf has beyond a multiple of 8 is added last, one after the other.
HWY_INLINE void add_pair(float a, float g, ErrorSums& sums) {
  const float difference = std::abs(a - g);
  const float relative = std::abs(g) > kTiny ? std::abs(a / g - 1) : 0;
  sums.difference += difference;
  sums.difference_squares += difference * difference;
  sums.actual_squares += a * a;
  sums.golden_squares += g * g;
  sums.relative += relative;
  sums.actual += a;
  sums.golden += g;
  sums.max_difference = std::max(sums.max_difference, difference);
  sums.max_relative = std::max(sums.max_relative, relative);
  sums.actual_min = std::min(sums.actual_min, a);
  sums.actual_max = std::max(sums.actual_max, a);
  sums.golden_min = std::min(sums.golden_min, g);
  sums.golden_max = std::max(sums.golden_max, g);
}

// Of the first pass. The order does not matter for these, so they are kept over all leaves.
struct Extremes {
  Parts max_difference, max_relative, actual_min, actual_max, golden_min, golden_max;

  HWY_INLINE Extremes() {
    fill(max_difference, 0);
    fill(max_relative, 0);
    for (Parts* least : {&actual_min, &golden_min}) fill(*least, std::numeric_limits<float>::infinity());
    for (Parts* most : {&actual_max, &golden_max}) fill(*most, -std::numeric_limits<float>::infinity());
  }

  HWY_INLINE void add(std::size_t k, Vec a, Vec g, Vec difference, Vec relative) {
    max_difference[k] = hn::Max(max_difference[k], difference);
    max_relative[k] = hn::Max(max_relative[k], relative);
    actual_min[k] = hn::Min(actual_min[k], a);
    actual_max[k] = hn::Max(actual_max[k], a);
    golden_min[k] = hn::Min(golden_min[k], g);
    golden_max[k] = hn::Max(golden_max[k], g);
  }

  HWY_INLINE void finish(ErrorSums& sums) const {
    sums.max_difference = std::max(sums.max_difference, largest(max_difference));
    sums.max_relative = std::max(sums.max_relative, largest(max_relative));
    sums.actual_min = std::min(sums.actual_min, smallest(actual_min));
    sums.actual_max = std::max(sums.actual_max, largest(actual_max));
    sums.golden_min = std::min(sums.golden_min, smallest(golden_min));
    sums.golden_max = std::max(sums.golden_max, largest(golden_max));
  }
};

// The first pass.
struct ErrorLeaves {
  Extremes extremes;
  HWY_INLINE ErrorLeaves() {}  // an implicit one would be compiled for the wrong target

  void add(const Starts& actual, const Starts& golden, std::size_t count, ErrorSums (&sums)[kLeaves]) {
    const std::size_t whole = count / 8 * 8;
    add_differences(actual, golden, whole, sums);
    sum_side(actual, whole, [&](std::size_t leaf, double sum) { sums[leaf].actual = sum; });
    sum_side(golden, whole, [&](std::size_t leaf, double sum) { sums[leaf].golden = sum; });
    for (std::size_t leaf = 0; leaf < kLeaves; ++leaf)
      for (std::size_t i = whole; i < count; ++i)
        add_pair(load_one(actual.at[leaf] + i), load_one(golden.at[leaf] + i), sums[leaf]);
  }

  HWY_INLINE void add_differences(const Starts& actual, const Starts& golden, std::size_t whole,
                                  ErrorSums (&sums)[kLeaves]) {
    Parts difference, squares, a_squares, g_squares, relative;
    Extremes local = extremes;
    for (Parts* parts : {&difference, &squares, &a_squares, &g_squares, &relative}) fill(*parts, 0);
    for (std::size_t i = 0; i < whole; i += 8)
      for (std::size_t k = 0; k < kParts; ++k) {
        const Vec a = load(actual, i, k), g = load(golden, i, k);
        const Vec distance = hn::Abs(hn::Sub(a, g)), error = relative_error(a, g);
        difference[k] = hn::Add(difference[k], distance);
        squares[k] = hn::Add(squares[k], hn::Mul(distance, distance));
        a_squares[k] = hn::Add(a_squares[k], hn::Mul(a, a));
        g_squares[k] = hn::Add(g_squares[k], hn::Mul(g, g));
        relative[k] = hn::Add(relative[k], error);
        local.add(k, a, g, distance, error);
      }
    extremes = local;
    fold(difference, [&](std::size_t leaf, float sum) { sums[leaf].difference = sum; });
    fold(squares, [&](std::size_t leaf, float sum) { sums[leaf].difference_squares = sum; });
    fold(a_squares, [&](std::size_t leaf, float sum) { sums[leaf].actual_squares = sum; });
    fold(g_squares, [&](std::size_t leaf, float sum) { sums[leaf].golden_squares = sum; });
    fold(relative, [&](std::size_t leaf, float sum) { sums[leaf].relative = sum; });
  }

  template <class Use>
  static HWY_INLINE void sum_side(const Starts& side, std::size_t whole, const Use& use) {
    WideParts sum;
    clear(sum);
    for (std::size_t i = 0; i < whole; i += 8)
      for (std::size_t leaf = 0; leaf < kLeaves; ++leaf)
        for (std::size_t k = 0; k < kWideParts; ++k)
          sum[leaf][k] = hn::Add(sum[leaf][k], load_wide(side.at[leaf], i, k));
    fold(sum, use);
  }
};

ErrorSums sum_errors_simd(const float* actual, const float* golden, std::size_t count) {
  ErrorLeaves leaves;
  ErrorSums sums = sum_tree<ErrorSums>(actual, golden, count, leaves);
  leaves.extremes.finish(sums);
  return sums;
}

// The second pass.
template <bool kFast>
struct SpreadLeaves {
  const PairScale& scale;
  const NumpyMetricNeeds needs;
  Divisor<kFast> actual_norm, golden_norm;
  Weights<kFast> actual_weights, golden_weights;

  HWY_INLINE SpreadLeaves(const PairScale& pair, NumpyMetricNeeds wanted)
      : scale(pair),
        needs(wanted),
        actual_norm(pair.actual.norm),
        golden_norm(pair.golden.norm),
        actual_weights(pair.actual),
        golden_weights(pair.golden) {}

  void add(const Starts& actual, const Starts& golden, std::size_t count, SpreadSums (&sums)[kLeaves]) const {
    const std::size_t whole = count / 8 * 8;
    if (needs.cosine) sum_products(actual, golden, whole, sums);
    if (needs.deviation) {
      sum_distances(actual, whole, scale.actual.mean,
                    [&](std::size_t leaf, double sum) { sums[leaf].actual_squares = sum; });
      sum_distances(golden, whole, scale.golden.mean,
                    [&](std::size_t leaf, double sum) { sums[leaf].golden_squares = sum; });
    }
    if (needs.divergence) {
      sum_weights(actual, whole, actual_weights,
                  [&](std::size_t leaf, float sum) { sums[leaf].actual_weight = sum; });
      sum_weights(golden, whole, golden_weights,
                  [&](std::size_t leaf, float sum) { sums[leaf].golden_weight = sum; });
    }
    for (std::size_t leaf = 0; leaf < kLeaves; ++leaf)
      for (std::size_t i = whole; i < count; ++i)
        add_pair(load_one(actual.at[leaf] + i), load_one(golden.at[leaf] + i), sums[leaf]);
  }

  HWY_INLINE void sum_products(const Starts& actual, const Starts& golden, std::size_t whole,
                               SpreadSums (&sums)[kLeaves]) const {
    Parts sum;
    fill(sum, 0);
    for (std::size_t i = 0; i < whole; i += 8)
      for (std::size_t k = 0; k < kParts; ++k) {
        const Vec a = actual_norm.divide(load(actual, i, k)), g = golden_norm.divide(load(golden, i, k));
        sum[k] = hn::Add(sum[k], hn::Mul(a, g));
      }
    fold(sum, [&](std::size_t leaf, float total) { sums[leaf].product = total; });
  }

  template <class Use>
  static HWY_INLINE void sum_distances(const Starts& side, std::size_t whole, double mean, const Use& use) {
    WideParts sum;
    clear(sum);
    const WideVec middle = hn::Set(Wide(), mean);
    for (std::size_t i = 0; i < whole; i += 8)
      for (std::size_t leaf = 0; leaf < kLeaves; ++leaf)
        for (std::size_t k = 0; k < kWideParts; ++k) {
          const WideVec distance = hn::Sub(load_wide(side.at[leaf], i, k), middle);
          sum[leaf][k] = hn::Add(sum[leaf][k], hn::Mul(distance, distance));
        }
    fold(sum, use);
  }

  template <class Use>
  static HWY_INLINE void sum_weights(const Starts& side, std::size_t whole, const Weights<kFast>& weights,
                                     const Use& use) {
    Parts sum;
    fill(sum, 0);
    for (std::size_t i = 0; i < whole; i += 8)
      for (std::size_t k = 0; k < kParts; ++k) sum[k] = hn::Add(sum[k], weights.of(load(side, i, k)));
    fold(sum, use);
  }

  HWY_INLINE void add_pair(float a, float g, SpreadSums& sums) const {
    const double a_distance = a - scale.actual.mean, g_distance = g - scale.golden.mean;
    sums.product += (a / scale.actual.norm) * (g / scale.golden.norm);
    sums.actual_squares += a_distance * a_distance;
    sums.golden_squares += g_distance * g_distance;
    sums.actual_weight += weight_of(a, scale.actual);
    sums.golden_weight += weight_of(g, scale.golden);
  }
};

SpreadSums sum_spread_simd(const float* actual, const float* golden, std::size_t count,
                           const PairScale& scale, NumpyMetricNeeds needs) {
  if (is_fast(scale)) {
    const SpreadLeaves<true> leaves(scale, needs);
    return sum_tree<SpreadSums>(actual, golden, count, leaves);
  }
  const SpreadLeaves<false> leaves(scale, needs);
  return sum_tree<SpreadSums>(actual, golden, count, leaves);
}

}  // namespace opdump::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace opdump::math {

HWY_EXPORT(sum_errors_simd);
HWY_EXPORT(sum_spread_simd);

void ErrorSums::add(const ErrorSums& right) {
  difference += right.difference;
  difference_squares += right.difference_squares;
  actual_squares += right.actual_squares;
  golden_squares += right.golden_squares;
  relative += right.relative;
  actual += right.actual;
  golden += right.golden;
  max_difference = std::max(max_difference, right.max_difference);
  max_relative = std::max(max_relative, right.max_relative);
  actual_min = std::min(actual_min, right.actual_min);
  actual_max = std::max(actual_max, right.actual_max);
  golden_min = std::min(golden_min, right.golden_min);
  golden_max = std::max(golden_max, right.golden_max);
}

void SpreadSums::add(const SpreadSums& right) {
  product += right.product;
  actual_squares += right.actual_squares;
  golden_squares += right.golden_squares;
  actual_weight += right.actual_weight;
  golden_weight += right.golden_weight;
}

ErrorSums sum_errors(const float* actual, const float* golden, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_errors_simd)(actual, golden, count);
}

SpreadSums sum_spread(const float* actual, const float* golden, std::size_t count, const PairScale& scale,
                      NumpyMetricNeeds needs) {
  return HWY_DYNAMIC_DISPATCH(sum_spread_simd)(actual, golden, count, scale, needs);
}

}  // namespace opdump::math
#endif
