#include "math/metrics/metrics_kernels.h"

#include <algorithm>
#include <cmath>

#include "math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/metrics/metrics_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "math/simd_sources.h"

HWY_BEFORE_NAMESPACE();
namespace opdump::math::HWY_NAMESPACE {
using I64 = hn::RebindToSigned<F64>;
using V = hn::Vec<F64>;
constexpr std::size_t kAhead = 4096;  // bytes

struct Lanes {
  V dot = hn::Zero(F64()), actual_squares = hn::Zero(F64()), golden_squares = hn::Zero(F64());
  V differences = hn::Zero(F64()), difference_squares = hn::Zero(F64());
  V max_abs = hn::Zero(F64()), max_rel = hn::Zero(F64());
  hn::Vec<I64> mismatches = hn::Zero(I64());
  HWY_INLINE Lanes() {}  // an implicit one would be compiled for the wrong target

  HWY_INLINE void add(V a, V g, V rtol, V atol) {
    const V abs = hn::Abs(hn::Sub(a, g)), golden = hn::Abs(g);
    dot = hn::MulAdd(a, g, dot);
    actual_squares = hn::MulAdd(a, a, actual_squares);
    golden_squares = hn::MulAdd(g, g, golden_squares);
    differences = hn::Add(differences, abs);
    difference_squares = hn::MulAdd(abs, abs, difference_squares);
    max_abs = hn::Max(abs, max_abs);
    const auto differs = hn::Gt(abs, hn::Zero(F64()));
    max_rel = hn::Max(hn::IfThenElseZero(differs, hn::Div(abs, golden)), max_rel);
    const auto far = hn::Not(hn::Le(abs, hn::Add(atol, hn::Mul(rtol, golden))));
    mismatches = hn::Sub(mismatches, hn::VecFromMask(I64(), hn::RebindMask(I64(), far)));
  }
};

HWY_INLINE V load(const double* at) {
#if HWY_TARGET == HWY_SCALAR  // whose LoadU asks for alignment
  return hn::Set(F64(), load_lane(at));
#else
  return hn::LoadU(F64(), at);
#endif
}

HWY_INLINE V load(const float* at) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(F64(), load_lane(at));
#else
  const hn::Rebind<float, F64> half;
  return hn::PromoteTo(F64(), hn::LoadU(half, at));
#endif
}

// Also asks for what comes a page later, which the processor does not do by itself in time.
template <typename T>
HWY_INLINE void add_vectors(const T* a, const T* g, V rtol, V atol, Lanes& first, Lanes& second) {
  __builtin_prefetch(a + kAhead / sizeof(T));
  __builtin_prefetch(g + kAhead / sizeof(T));
  const std::size_t next = hn::Lanes(F64());
  first.add(load(a), load(g), rtol, atol);
  second.add(load(a + next), load(g + next), rtol, atol);
}

HWY_INLINE double sum(V a, V b) { return hn::GetLane(hn::SumOfLanes(F64(), hn::Add(a, b))); }
HWY_INLINE double max(V a, V b) { return largest_lane(F64(), hn::Max(a, b)); }

template <typename T>
PairSums sum_all(const T* actual, const T* golden, std::size_t count, Tolerance tolerance) {
  const F64 d;
  const std::size_t step = 2 * hn::Lanes(d);
  const V rtol = hn::Set(d, tolerance.rtol), atol = hn::Set(d, tolerance.atol);
  Lanes a, b;
  std::size_t i = 0;
  for (; i + step <= count; i += step) add_vectors(actual + i, golden + i, rtol, atol, a, b);
  PairSums sums;
  sums.dot = sum(a.dot, b.dot);
  sums.actual_squares = sum(a.actual_squares, b.actual_squares);
  sums.golden_squares = sum(a.golden_squares, b.golden_squares);
  sums.differences = sum(a.differences, b.differences);
  sums.difference_squares = sum(a.difference_squares, b.difference_squares);
  sums.max_abs = max(a.max_abs, b.max_abs);
  sums.max_rel = max(a.max_rel, b.max_rel);
  sums.mismatch_count =
      static_cast<std::uint64_t>(hn::GetLane(hn::SumOfLanes(I64(), hn::Add(a.mismatches, b.mismatches))));
  for (; i < count; ++i) sums.add(load_lane(actual + i), load_lane(golden + i), tolerance);
  return sums;
}

PairSums sum_float_pairs(const float* actual, const float* golden, std::size_t count, Tolerance tolerance) {
  return sum_all(actual, golden, count, tolerance);
}
PairSums sum_double_pairs(const double* actual, const double* golden, std::size_t count,
                          Tolerance tolerance) {
  return sum_all(actual, golden, count, tolerance);
}

}  // namespace opdump::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace opdump::math {

OPDUMP_SIMD_EXPORT(sum_float_pairs);
OPDUMP_SIMD_EXPORT(sum_double_pairs);

void PairSums::add(double actual, double golden, Tolerance tolerance) {
  const double abs = std::abs(actual - golden), size = std::abs(golden);
  dot += actual * golden;
  actual_squares += actual * actual;
  golden_squares += golden * golden;
  differences += abs;
  difference_squares += abs * abs;
  max_abs = std::max(max_abs, abs);
  if (abs > 0) max_rel = std::max(max_rel, abs / size);
  mismatch_count += !(abs <= tolerance.atol + tolerance.rtol * size);
}

void PairSums::add(const PairSums& other) {
  dot += other.dot;
  actual_squares += other.actual_squares;
  golden_squares += other.golden_squares;
  differences += other.differences;
  difference_squares += other.difference_squares;
  max_abs = std::max(max_abs, other.max_abs);
  max_rel = std::max(max_rel, other.max_rel);
  mismatch_count += other.mismatch_count;
}

PairSums sum_pairs(const float* actual, const float* golden, std::size_t count, Tolerance tolerance) {
  return OPDUMP_SIMD(sum_float_pairs)(actual, golden, count, tolerance);
}

PairSums sum_pairs(const double* actual, const double* golden, std::size_t count, Tolerance tolerance) {
  return OPDUMP_SIMD(sum_double_pairs)(actual, golden, count, tolerance);
}

}  // namespace opdump::math
#endif
