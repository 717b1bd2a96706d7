// Compiled without contraction of a * b + c: NumPy rounds after each operation.
#include "math/numpy_metrics_kernels.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/numpy_metrics_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "math/simd_sources.h"

HWY_BEFORE_NAMESPACE();
namespace opdump::math::HWY_NAMESPACE {

// NumPy's eight running sums, in as many vectors as it takes.
using Part = hn::CappedTag<float, 8>;
using WidePart = hn::CappedTag<double, 8>;
constexpr std::size_t kWidth = hn::MaxLanes(Part());
constexpr std::size_t kWideWidth = hn::MaxLanes(WidePart());
constexpr float kTiny = 0x1p-52f;
constexpr float kFloor = 0x1p-23f;  // what probabilities are raised to

template <typename T>
T fold(const T (&sums)[8]) {
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

#if HWY_TARGET != HWY_SCALAR
// Four running sums to one, in NumPy's order; the result is in every lane of the block.
template <class V>
HWY_INLINE V fold_blocks(V sums) {
  sums = hn::Add(sums, hn::Shuffle2301(sums));
  return hn::Add(sums, hn::Shuffle1032(sums));
}
#endif

template <class D, std::size_t kParts>
HWY_INLINE hn::TFromD<D> fold(D d, const hn::Vec<D> (&parts)[kParts]) {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  // Floats need no way through memory.
  if constexpr (sizeof(hn::TFromD<D>) == 4 && kParts == 1) {
    const hn::Half<D> half;
    const auto fours = fold_blocks(parts[0]);
    return hn::GetLane(hn::Add(hn::LowerHalf(half, fours), hn::UpperHalf(half, fours)));
  } else if constexpr (sizeof(hn::TFromD<D>) == 4 && kParts == 2) {
    return hn::GetLane(hn::Add(fold_blocks(parts[0]), fold_blocks(parts[1])));
  }
#endif
  alignas(64) hn::TFromD<D> sums[8];
  for (std::size_t k = 0; k < kParts; ++k) hn::Store(parts[k], d, sums + k * 8 / kParts);
  return fold(sums);
}

// Division by the same number many times. With a fused operation the product with the rounded reciprocal can
// be put right to what a division gives (Markstein), unless numbers are so small or large that the remainder
// underflows.
template <bool kFast>
struct Divisor {
  hn::Vec<Part> divisor, reciprocal;
  HWY_INLINE explicit Divisor(float value)
      : divisor(hn::Set(Part(), value)), reciprocal(hn::Set(Part(), 1 / value)) {}

  HWY_INLINE hn::Vec<Part> divide(hn::Vec<Part> x) const {
    if constexpr (!kFast) return hn::Div(x, divisor);
    const auto quotient = hn::Mul(x, reciprocal);
    return hn::MulAdd(hn::NegMulAdd(quotient, divisor, x), reciprocal, quotient);
  }
};

#if HWY_NATIVE_FMA
bool is_fast(float divisor) { return divisor >= 0x1p-60f && divisor <= 0x1p60f; }
#else
bool is_fast(float) { return false; }
#endif

template <class D, std::size_t kParts>
HWY_INLINE void fill(hn::Vec<D> (&parts)[kParts], hn::TFromD<D> value, D d) {
  for (std::size_t k = 0; k < kParts; ++k) parts[k] = hn::Set(d, value);
}

template <std::size_t kParts>
HWY_INLINE float largest(const hn::Vec<Part> (&parts)[kParts]) {
  hn::Vec<Part> result = parts[0];
  for (std::size_t k = 1; k < kParts; ++k) result = hn::Max(result, parts[k]);
  return largest_lane(Part(), result);
}

template <std::size_t kParts>
HWY_INLINE float smallest(const hn::Vec<Part> (&parts)[kParts]) {
  hn::Vec<Part> result = parts[0];
  for (std::size_t k = 1; k < kParts; ++k) result = hn::Min(result, parts[k]);
  return smallest_lane(Part(), result);
}

using Parts = hn::Vec<Part>[8 / kWidth];
using WideParts = hn::Vec<WidePart>[8 / kWideWidth];

// |a / g - 1| where g is not nearly 0.
HWY_INLINE hn::Vec<Part> relative_error(hn::Vec<Part> a, hn::Vec<Part> g) {
  const Part d;
  const auto error = hn::Abs(hn::Sub(hn::Div(a, g), hn::Set(d, 1.0f)));
  return hn::IfThenElseZero(hn::Gt(hn::Abs(g), hn::Set(d, kTiny)), error);
}

void add_differences(const float* actual, const float* golden, std::size_t count, ErrorSums& sums) {
  const Part d;
  Parts difference, squares, a_squares, g_squares, relative, max_difference, max_relative;
  for (auto* parts :
       {&difference, &squares, &a_squares, &g_squares, &relative, &max_difference, &max_relative})
    fill(*parts, 0.0f, d);
  for (std::size_t i = 0; i + 8 <= count; i += 8)
    for (std::size_t k = 0; k < std::size(difference); ++k) {
      const auto a = hn::LoadU(d, actual + i + k * kWidth), g = hn::LoadU(d, golden + i + k * kWidth);
      const auto distance = hn::Abs(hn::Sub(a, g)), error = relative_error(a, g);
      difference[k] = hn::Add(difference[k], distance);
      squares[k] = hn::Add(squares[k], hn::Mul(distance, distance));
      a_squares[k] = hn::Add(a_squares[k], hn::Mul(a, a));
      g_squares[k] = hn::Add(g_squares[k], hn::Mul(g, g));
      relative[k] = hn::Add(relative[k], error);
      max_difference[k] = hn::Max(max_difference[k], distance);
      max_relative[k] = hn::Max(max_relative[k], error);
    }
  sums.difference = fold(d, difference);
  sums.difference_squares = fold(d, squares);
  sums.actual_squares = fold(d, a_squares);
  sums.golden_squares = fold(d, g_squares);
  sums.relative = fold(d, relative);
  sums.max_difference = largest(max_difference);
  sums.max_relative = largest(max_relative);
}

struct SideSums {
  float min, max;
  double sum;
};

SideSums sum_side(const float* side, std::size_t count) {
  const Part d;
  const WidePart wide;
  const hn::Rebind<float, WidePart> narrow;
  Parts least, most;
  WideParts sum;
  fill(least, std::numeric_limits<float>::infinity(), d);
  fill(most, -std::numeric_limits<float>::infinity(), d);
  fill(sum, 0.0, wide);
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
    for (std::size_t k = 0; k < std::size(least); ++k) {
      const auto x = hn::LoadU(d, side + i + k * kWidth);
      least[k] = hn::Min(least[k], x);
      most[k] = hn::Max(most[k], x);
    }
    for (std::size_t k = 0; k < std::size(sum); ++k)
      sum[k] = hn::Add(sum[k], hn::PromoteTo(wide, hn::LoadU(narrow, side + i + k * kWideWidth)));
  }
  return {smallest(least), largest(most), fold(wide, sum)};
}

ErrorSums sum_errors_simd(const float* actual, const float* golden, std::size_t count) {
  ErrorSums sums;
  add_differences(actual, golden, count, sums);
  const SideSums a = sum_side(actual, count), g = sum_side(golden, count);
  sums.actual_min = a.min;
  sums.actual_max = a.max;
  sums.actual = a.sum;
  sums.golden_min = g.min;
  sums.golden_max = g.max;
  sums.golden = g.sum;
  return sums;
}

template <bool kFast>
float sum_products_by(const float* actual, const float* golden, std::size_t count, float a_norm,
                      float g_norm) {
  const Part d;
  Parts sum;
  fill(sum, 0.0f, d);
  const Divisor<kFast> a_size(a_norm), g_size(g_norm);
  for (std::size_t i = 0; i + 8 <= count; i += 8)
    for (std::size_t k = 0; k < std::size(sum); ++k) {
      const auto a = a_size.divide(hn::LoadU(d, actual + i + k * kWidth));
      const auto g = g_size.divide(hn::LoadU(d, golden + i + k * kWidth));
      sum[k] = hn::Add(sum[k], hn::Mul(a, g));
    }
  return fold(d, sum);
}

float sum_products_simd(const float* actual, const float* golden, std::size_t count, float a_norm,
                        float g_norm) {
  return is_fast(a_norm) && is_fast(g_norm) ? sum_products_by<true>(actual, golden, count, a_norm, g_norm)
                                            : sum_products_by<false>(actual, golden, count, a_norm, g_norm);
}

double sum_distances_simd(const float* side, std::size_t count, double mean) {
  const WidePart d;
  const hn::Rebind<float, WidePart> narrow;
  WideParts sum;
  fill(sum, 0.0, d);
  const auto middle = hn::Set(d, mean);
  for (std::size_t i = 0; i + 8 <= count; i += 8)
    for (std::size_t k = 0; k < std::size(sum); ++k) {
      const auto x = hn::PromoteTo(d, hn::LoadU(narrow, side + i + k * kWideWidth));
      const auto distance = hn::Sub(x, middle);
      sum[k] = hn::Add(sum[k], hn::Mul(distance, distance));
    }
  return fold(d, sum);
}

// The unnormalised probability: from 0 to 1 by range, at least kFloor.
template <bool kFast>
HWY_INLINE hn::Vec<Part> weight_of(hn::Vec<Part> x, hn::Vec<Part> least, const Divisor<kFast>& range) {
  return hn::Max(range.divide(hn::Sub(x, least)), hn::Set(Part(), kFloor));  // no NaN comes here
}

template <bool kFast>
float sum_weights_by(const float* side, std::size_t count, const SideScale& scale) {
  const Part d;
  Parts sum;
  fill(sum, 0.0f, d);
  const auto least = hn::Set(d, scale.min);
  const Divisor<kFast> range(scale.range);
  for (std::size_t i = 0; i + 8 <= count; i += 8)
    for (std::size_t k = 0; k < std::size(sum); ++k)
      sum[k] = hn::Add(sum[k], weight_of(hn::LoadU(d, side + i + k * kWidth), least, range));
  return fold(d, sum);
}

float sum_weights_simd(const float* side, std::size_t count, const SideScale& scale) {
  return is_fast(scale.range) ? sum_weights_by<true>(side, count, scale)
                              : sum_weights_by<false>(side, count, scale);
}

// numpy_log() of each lane.
HWY_INLINE hn::Vec<Part> log_of(hn::Vec<Part> x) {
  const Part d;
#if HWY_NATIVE_FMA
  const hn::RebindToSigned<Part> integers;
  const auto bits = hn::BitCast(integers, x);
  const auto shifted = hn::Sub(bits, hn::Set(integers, kAboveRootOfHalf));
  const auto exponent = hn::ConvertTo(d, hn::ShiftRight<23>(shifted));
  const auto m = hn::BitCast(d, hn::Sub(bits, hn::AndNot(hn::Set(integers, 0x007FFFFF), shifted)));
  const auto t = hn::Sub(m, hn::Set(d, 1.0F));
  auto p = hn::Set(d, kLogP[5]), q = hn::Set(d, kLogQ[5]);
  for (std::size_t k = 5; k-- > 0;) {
    p = hn::MulAdd(p, t, hn::Set(d, kLogP[k]));
    q = hn::MulAdd(q, t, hn::Set(d, kLogQ[k]));
  }
  return hn::MulAdd(exponent, hn::Set(d, kLogOf2), hn::Div(p, q));
#else
  alignas(64) float lanes[kWidth];
  hn::Store(x, d, lanes);
  for (float& lane : lanes) lane = numpy_log(lane);
  return hn::Load(d, lanes);
#endif
}

// Probabilities of a leaf.
template <bool kFast>
HWY_INLINE void probabilities(const float* side, std::size_t whole, const SideScale& scale, float* out) {
  const Part d;
  const auto least = hn::Set(d, scale.min);
  const Divisor<kFast> range(scale.range), sum(scale.weight);
  for (std::size_t i = 0; i < whole; i += kWidth)
    hn::Store(sum.divide(weight_of(hn::LoadU(d, side + i), least, range)), d, out + i);
}

void probabilities_of(const float* side, std::size_t whole, const SideScale& scale, float* out) {
  if (is_fast(scale.range) && is_fast(scale.weight))
    probabilities<true>(side, whole, scale, out);
  else
    probabilities<false>(side, whole, scale, out);
}

float sum_divergence_simd(const float* actual, const float* golden, std::size_t count,
                          const PairScale& scale) {
  const Part d;
  alignas(64) float p[kLeaf], logs[kLeaf];
  const std::size_t whole = count / 8 * 8;
  probabilities_of(actual, whole, scale.actual, p);
  probabilities_of(golden, whole, scale.golden, logs);
  for (std::size_t i = 0; i < whole; i += kWidth)
    hn::Store(log_of(hn::Div(hn::Load(d, p + i), hn::Load(d, logs + i))), d, logs + i);
  Parts sum;
  fill(sum, 0.0f, d);
  for (std::size_t i = 0; i < whole; i += 8)
    for (std::size_t k = 0; k < std::size(sum); ++k) {
      const std::size_t at = i + k * kWidth;
      sum[k] = hn::Add(sum[k], hn::Mul(hn::Load(d, p + at), hn::Load(d, logs + at)));
    }
  return fold(d, sum);
}

}  // namespace opdump::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace opdump::math {
namespace {

constexpr float kTiny = 0x1p-52f;
constexpr float kFloor = 0x1p-23f;

// What a leaf has beyond a multiple of 8 is added last, one after the other.
void add_pair(float a, float g, ErrorSums& sums) {
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

float weight_of(float x, const SideScale& scale) {
  const float weight = (x - scale.min) / scale.range;
  return weight < kFloor ? kFloor : weight;
}

std::size_t whole_eights(std::size_t count) { return count / 8 * 8; }

}  // namespace

HWY_EXPORT(sum_errors_simd);
HWY_EXPORT(sum_products_simd);
HWY_EXPORT(sum_distances_simd);
HWY_EXPORT(sum_weights_simd);
HWY_EXPORT(sum_divergence_simd);

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

float numpy_log(float x) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  const std::int32_t exponent = (bits - kAboveRootOfHalf) >> 23;
  const float t = std::bit_cast<float>(bits - exponent * (1 << 23)) - 1;
  float p = kLogP[5], q = kLogQ[5];
  for (std::size_t k = 5; k-- > 0;) {
    p = std::fma(p, t, kLogP[k]);
    q = std::fma(q, t, kLogQ[k]);
  }
  return std::fma(static_cast<float>(exponent), kLogOf2, p / q);
}

ErrorSums sum_errors(const float* actual, const float* golden, std::size_t count) {
  ErrorSums sums = HWY_DYNAMIC_DISPATCH(sum_errors_simd)(actual, golden, count);
  for (std::size_t i = whole_eights(count); i < count; ++i) add_pair(actual[i], golden[i], sums);
  return sums;
}

float sum_products(const float* actual, const float* golden, std::size_t count, const PairScale& scale) {
  const float a_norm = scale.actual.norm, g_norm = scale.golden.norm;
  float sum = HWY_DYNAMIC_DISPATCH(sum_products_simd)(actual, golden, count, a_norm, g_norm);
  for (std::size_t i = whole_eights(count); i < count; ++i)
    sum += (actual[i] / a_norm) * (golden[i] / g_norm);
  return sum;
}

double sum_distances(const float* side, std::size_t count, double mean) {
  double sum = HWY_DYNAMIC_DISPATCH(sum_distances_simd)(side, count, mean);
  for (std::size_t i = whole_eights(count); i < count; ++i) sum += (side[i] - mean) * (side[i] - mean);
  return sum;
}

float sum_weights(const float* side, std::size_t count, const SideScale& scale) {
  float sum = HWY_DYNAMIC_DISPATCH(sum_weights_simd)(side, count, scale);
  for (std::size_t i = whole_eights(count); i < count; ++i) sum += weight_of(side[i], scale);
  return sum;
}

float sum_divergence(const float* actual, const float* golden, std::size_t count, const PairScale& scale) {
  float sum = HWY_DYNAMIC_DISPATCH(sum_divergence_simd)(actual, golden, count, scale);
  for (std::size_t i = whole_eights(count); i < count; ++i) {
    const float p = weight_of(actual[i], scale.actual) / scale.actual.weight;
    const float q = weight_of(golden[i], scale.golden) / scale.golden.weight;
    sum += p * numpy_log(p / q);
  }
  return sum;
}

}  // namespace opdump::math
#endif
