// Compiled without contraction of a * b + c: NumPy rounds after each operation.
#include "math/metrics/numpy_metrics_kernels.h"

#include <cmath>

#include "math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/metrics/numpy_metrics_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "math/metrics/numpy_leaves.h"

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
HWY_INLINE void add_errors(float a, float g, ErrorSums& sums) {
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

// The first pass finds these. Their order does not matter, so they are kept over all leaves.
struct Extremes {
  Parts<kVectorLeaves> max_difference, max_relative, actual_min, actual_max, golden_min, golden_max;

  HWY_INLINE Extremes() {
    fill(max_difference, 0);
    fill(max_relative, 0);
    for (auto* least : {&actual_min, &golden_min}) fill(*least, std::numeric_limits<float>::infinity());
    for (auto* most : {&actual_max, &golden_max}) fill(*most, -std::numeric_limits<float>::infinity());
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

// The running sums of doubles of both sides.
template <std::size_t kLeaves>
struct WideSums {
  WideParts<kLeaves> actual, golden;
  HWY_INLINE WideSums() {}
  HWY_INLINE void clear_all() {
    clear(actual);
    clear(golden);
  }

  // Adds of(x) of eight elements of each leaf.
  template <class OfActual, class OfGolden>
  HWY_INLINE void add(const Starts<kLeaves>& a, const Starts<kLeaves>& g, std::size_t i,
                      const OfActual& of_actual, const OfGolden& of_golden) {
    for (std::size_t leaf = 0; leaf < kLeaves; ++leaf)
      for (std::size_t k = 0; k < kWideParts; ++k) {
        actual[leaf][k] = hn::Add(actual[leaf][k], of_actual(load_wide(a.at[leaf], i, k)));
        golden[leaf][k] = hn::Add(golden[leaf][k], of_golden(load_wide(g.at[leaf], i, k)));
      }
  }

  template <std::size_t kAll>
  HWY_INLINE void copy_to(std::size_t first, WideSums<kAll>& to) const {
    for (std::size_t leaf = 0; leaf < kLeaves; ++leaf)
      for (std::size_t k = 0; k < kWideParts; ++k) {
        to.actual[first + leaf][k] = actual[leaf][k];
        to.golden[first + leaf][k] = golden[leaf][k];
      }
  }
};

// The first pass.
struct ErrorLeaves {
  static constexpr std::size_t kAtOnce = kVectorLeaves;
  Extremes extremes;
  HWY_INLINE ErrorLeaves() {}  // an implicit one would be compiled for the wrong target

  template <std::size_t kLeaves>
  struct Running {
    Parts<kLeaves> difference, squares, a_squares, g_squares, relative;
    WideSums<kLeaves> wide;
    HWY_INLINE Running() {}
  };

  template <std::size_t kLeaves, std::size_t kAll>
  HWY_INLINE void walk(const Starts<kLeaves>& actual, const Starts<kLeaves>& golden, std::size_t whole,
                       std::size_t first, Running<kAll>& to) {
    Running<kLeaves> sums;
    for (auto* parts : {&sums.difference, &sums.squares, &sums.a_squares, &sums.g_squares, &sums.relative})
      fill(*parts, 0);
    sums.wide.clear_all();
    Extremes local = extremes;
    const auto same = [](WideVec x) HWY_ATTR { return x; };
    for (std::size_t i = 0; i < whole; i += 8) {
      for (std::size_t k = 0; k < kParts<kLeaves>; ++k) {
        const Vec a = load(actual, i, k), g = load(golden, i, k);
        const Vec distance = hn::Abs(hn::Sub(a, g)), error = relative_error(a, g);
        sums.difference[k] = hn::Add(sums.difference[k], distance);
        sums.squares[k] = hn::Add(sums.squares[k], hn::Mul(distance, distance));
        sums.a_squares[k] = hn::Add(sums.a_squares[k], hn::Mul(a, a));
        sums.g_squares[k] = hn::Add(sums.g_squares[k], hn::Mul(g, g));
        sums.relative[k] = hn::Add(sums.relative[k], error);
        local.add(k, a, g, distance, error);
      }
      sums.wide.add(actual, golden, i, same, same);
    }
    extremes = local;
    for (std::size_t k = 0, at = first / kLeaves * kParts<kLeaves>; k < kParts<kLeaves>; ++k, ++at) {
      to.difference[at] = sums.difference[k];
      to.squares[at] = sums.squares[k];
      to.a_squares[at] = sums.a_squares[k];
      to.g_squares[at] = sums.g_squares[k];
      to.relative[at] = sums.relative[k];
    }
    sums.wide.copy_to(first, to.wide);
  }

  template <std::size_t kAll>
  static HWY_INLINE ErrorSums total(Running<kAll>& running) {
    ErrorSums sums;
    sums.difference = add_up<kAll>(running.difference);
    sums.difference_squares = add_up<kAll>(running.squares);
    sums.actual_squares = add_up<kAll>(running.a_squares);
    sums.golden_squares = add_up<kAll>(running.g_squares);
    sums.relative = add_up<kAll>(running.relative);
    sums.actual = add_up_wide<kAll>(running.wide.actual);
    sums.golden = add_up_wide<kAll>(running.wide.golden);
    return sums;
  }

  template <std::size_t kLeaves>
  static HWY_INLINE void fold(const Running<kLeaves>& running, ErrorSums (&sums)[kLeaves]) {
    fold_parts<kLeaves>(running.difference,
                        [&](std::size_t leaf, float sum) { sums[leaf].difference = sum; });
    fold_parts<kLeaves>(running.squares,
                        [&](std::size_t leaf, float sum) { sums[leaf].difference_squares = sum; });
    fold_parts<kLeaves>(running.a_squares,
                        [&](std::size_t leaf, float sum) { sums[leaf].actual_squares = sum; });
    fold_parts<kLeaves>(running.g_squares,
                        [&](std::size_t leaf, float sum) { sums[leaf].golden_squares = sum; });
    fold_parts<kLeaves>(running.relative, [&](std::size_t leaf, float sum) { sums[leaf].relative = sum; });
    fold_wide<kLeaves>(running.wide.actual, [&](std::size_t leaf, double sum) { sums[leaf].actual = sum; });
    fold_wide<kLeaves>(running.wide.golden, [&](std::size_t leaf, double sum) { sums[leaf].golden = sum; });
  }

  static HWY_INLINE void add_pair(const float* a, const float* g, ErrorSums& sums) {
    add_errors(load_one(a), load_one(g), sums);
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
  static constexpr std::size_t kAtOnce = kVectorLeaves;
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

  template <std::size_t kLeaves>
  struct Running {
    Parts<kLeaves> product, a_weight, g_weight;
    WideSums<kLeaves> squares;
    HWY_INLINE Running() {}
  };

  template <std::size_t kLeaves, std::size_t kAll>
  HWY_INLINE void walk(const Starts<kLeaves>& actual, const Starts<kLeaves>& golden, std::size_t whole,
                       std::size_t first, Running<kAll>& to) const {
    Running<kLeaves> sums;
    for (auto* parts : {&sums.product, &sums.a_weight, &sums.g_weight}) fill(*parts, 0);
    sums.squares.clear_all();
    const auto square_from = [](WideVec middle) HWY_ATTR {
      return [middle](WideVec x) HWY_ATTR {
        const WideVec distance = hn::Sub(x, middle);
        return hn::Mul(distance, distance);
      };
    };
    const auto of_actual = square_from(hn::Set(Wide(), scale.actual.mean)),
               of_golden = square_from(hn::Set(Wide(), scale.golden.mean));
    for (std::size_t i = 0; i < whole; i += 8) {
      for (std::size_t k = 0; k < kParts<kLeaves>; ++k) {
        const Vec a = load(actual, i, k), g = load(golden, i, k);
        if (needs.cosine)
          sums.product[k] = hn::Add(sums.product[k], hn::Mul(actual_norm.divide(a), golden_norm.divide(g)));
        if (needs.divergence) {
          sums.a_weight[k] = hn::Add(sums.a_weight[k], actual_weights.of(a));
          sums.g_weight[k] = hn::Add(sums.g_weight[k], golden_weights.of(g));
        }
      }
      if (needs.deviation) sums.squares.add(actual, golden, i, of_actual, of_golden);
    }
    for (std::size_t k = 0, at = first / kLeaves * kParts<kLeaves>; k < kParts<kLeaves>; ++k, ++at) {
      to.product[at] = sums.product[k];
      to.a_weight[at] = sums.a_weight[k];
      to.g_weight[at] = sums.g_weight[k];
    }
    sums.squares.copy_to(first, to.squares);
  }

  template <std::size_t kAll>
  static HWY_INLINE SpreadSums total(Running<kAll>& running) {
    return {add_up<kAll>(running.product), add_up_wide<kAll>(running.squares.actual),
            add_up_wide<kAll>(running.squares.golden), add_up<kAll>(running.a_weight),
            add_up<kAll>(running.g_weight)};
  }

  template <std::size_t kLeaves>
  static HWY_INLINE void fold(const Running<kLeaves>& running, SpreadSums (&sums)[kLeaves]) {
    fold_parts<kLeaves>(running.product, [&](std::size_t leaf, float sum) { sums[leaf].product = sum; });
    fold_parts<kLeaves>(running.a_weight,
                        [&](std::size_t leaf, float sum) { sums[leaf].actual_weight = sum; });
    fold_parts<kLeaves>(running.g_weight,
                        [&](std::size_t leaf, float sum) { sums[leaf].golden_weight = sum; });
    fold_wide<kLeaves>(running.squares.actual,
                       [&](std::size_t leaf, double sum) { sums[leaf].actual_squares = sum; });
    fold_wide<kLeaves>(running.squares.golden,
                       [&](std::size_t leaf, double sum) { sums[leaf].golden_squares = sum; });
  }

  HWY_INLINE void add_pair(const float* actual, const float* golden, SpreadSums& sums) const {
    const float a = load_one(actual), g = load_one(golden);
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
    SpreadLeaves<true> leaves(scale, needs);
    return sum_tree<SpreadSums>(actual, golden, count, leaves);
  }
  SpreadLeaves<false> leaves(scale, needs);
  return sum_tree<SpreadSums>(actual, golden, count, leaves);
}

}  // namespace opdump::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace opdump::math {

OPDUMP_SIMD_EXPORT(sum_errors_simd);
OPDUMP_SIMD_EXPORT(sum_spread_simd);

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
  return OPDUMP_SIMD(sum_errors_simd)(actual, golden, count);
}

SpreadSums sum_spread(const float* actual, const float* golden, std::size_t count, const PairScale& scale,
                      NumpyMetricNeeds needs) {
  return OPDUMP_SIMD(sum_spread_simd)(actual, golden, count, scale, needs);
}

}  // namespace opdump::math
#endif
