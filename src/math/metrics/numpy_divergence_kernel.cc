// Compiled without contraction of a * b + c: NumPy rounds after each operation.
#include "math/metrics/numpy_metrics_kernels.h"

#include "math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/metrics/numpy_divergence_kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "math/metrics/numpy_leaves.h"

HWY_BEFORE_NAMESPACE();
namespace opdump::math::HWY_NAMESPACE {

// x = 2^exponent * rest, with a rest around 1.
struct Split {
  hn::Vec<hn::RebindToSigned<Lanes>> exponent;
  Vec rest;
};

// `above_root`: the first float above the square root of 1/2 from which on the exponent is one more.
HWY_INLINE Split split(Vec x, int above_root) {
  const hn::RebindToSigned<Lanes> integers;
  const auto bits = hn::BitCast(integers, x);
  // Subtracting moves the change of exponent from 1 to there.
  const auto shifted = hn::Sub(bits, hn::Set(integers, above_root));
  const auto scale = hn::AndNot(hn::Set(integers, 0x007fffff), shifted);
  return {hn::ShiftRight<23>(shifted), hn::BitCast(Lanes(), hn::Sub(bits, scale))};
}

// The logarithm of positive normal floats as NumPy computes it on this machine.
#if HWY_ARCH_X86 && HWY_NATIVE_FMA
// A rational function, whose coefficients are NumPy's: both halves of it, and the exponent.
struct LogParts {
  Vec above, below, exponent;
};
HWY_INLINE LogParts log_parts(Vec x) {
  const Lanes d;
  const Split parts = split(x, 0x3f3504f4);
  const Vec m = hn::Sub(parts.rest, hn::Set(d, 1.0f));
  const auto next = [&](Vec sum, float factor) HWY_ATTR { return hn::MulAdd(sum, m, hn::Set(d, factor)); };
  Vec above = next(hn::Set(d, 2.589979117907922693523e-02f), 3.808837741388407920751e-01f);
  above = next(next(above, 1.480000633576506585156e+00f), 2.112677543073053063722e+00f);
  above = hn::Mul(next(above, 1.0f), m);
  Vec below = next(hn::Set(d, 5.875095403124574342950e-03f), 1.546476374983906719538e-01f);
  below = next(next(below, 9.864942958519418960339e-01f), 2.453006071784736363091e+00f);
  below = next(next(below, 2.612677543073109236779e+00f), 1.0f);
  return {above, below, hn::ConvertTo(d, parts.exponent)};
}

template <std::size_t kCount>
HWY_INLINE void take_logs(Vec (&x)[kCount]) {
  LogParts parts[kCount];
  for (std::size_t k = 0; k < kCount; ++k) parts[k] = log_parts(x[k]);
  for (std::size_t k = 0; k < kCount; ++k) parts[k].above = hn::Div(parts[k].above, parts[k].below);
  const Vec log_2 = hn::Set(Lanes(), 0.693147180559945309f);
  for (std::size_t k = 0; k < kCount; ++k) x[k] = hn::MulAdd(parts[k].exponent, log_2, parts[k].above);
}
#else
// That of the C library, which is nearly always the float nearest to the exact one:
// log m = 2 (z + z^3/3 + z^5/5 ...) with z = (m - 1) / (m + 1).
template <class V>
HWY_INLINE hn::Vec<F64> wide_log(V exponent, V rest) {
  const F64 d;
  const auto m = hn::PromoteTo(d, rest), one = hn::Set(d, 1.0);
  const auto z = hn::Div(hn::Sub(m, one), hn::Add(m, one)), zz = hn::Mul(z, z);
  const auto next = [&](hn::Vec<F64> sum, double factor)
                        HWY_ATTR { return hn::MulAdd(sum, zz, hn::Set(d, factor)); };
  auto series = next(hn::Set(d, 2.0 / 13), 2.0 / 11);
  series = next(next(series, 2.0 / 9), 2.0 / 7);
  series = next(next(next(series, 2.0 / 5), 2.0 / 3), 2.0);
  return hn::MulAdd(hn::PromoteTo(d, exponent), hn::Set(d, 0.6931471805599453), hn::Mul(series, z));
}

HWY_INLINE Vec log_of(Vec x) {
  const Lanes d;
  const hn::Rebind<float, F64> narrow;
  const Split parts = split(x, 0x3f3504f3);
  alignas(64) float exponent[kWidth], rest[kWidth];
  hn::Store(hn::ConvertTo(d, parts.exponent), d, exponent);
  hn::Store(parts.rest, d, rest);
  for (std::size_t i = 0; i < kWidth; i += hn::Lanes(narrow)) {
    const auto log = wide_log(hn::Load(narrow, exponent + i), hn::Load(narrow, rest + i));
    hn::Store(hn::DemoteTo(narrow, log), narrow, rest + i);
  }
  return hn::Load(d, rest);
}

template <std::size_t kCount>
HWY_INLINE void take_logs(Vec (&x)[kCount]) {
  for (Vec& each : x) each = log_of(each);
}
#endif

// The third pass. One term takes so many steps after each other that the processor does not see where the
// next one begins; so each step is made for several terms.
template <bool kFast>
struct DivergenceLeaves {
  static constexpr std::size_t kAtOnce = 4 * kVectorLeaves;
  Weights<kFast> actual_weights, golden_weights;
  Divisor<kFast> actual_total, golden_total;

  HWY_INLINE explicit DivergenceLeaves(const PairScale& scale)
      : actual_weights(scale.actual),
        golden_weights(scale.golden),
        actual_total(scale.actual.weight),
        golden_total(scale.golden.weight) {}

  // `a` becomes the terms.
  template <std::size_t kCount>
  HWY_INLINE void make_terms(Vec (&a)[kCount], Vec (&g)[kCount]) const {
    for (Vec& p : a) p = actual_weights.of(p);
    for (Vec& q : g) q = golden_weights.of(q);
    for (Vec& p : a) p = actual_total.divide(p);
    for (Vec& q : g) q = golden_total.divide(q);
    for (std::size_t k = 0; k < kCount; ++k) g[k] = hn::Div(a[k], g[k]);
    take_logs(g);
    for (std::size_t k = 0; k < kCount; ++k) a[k] = hn::Mul(a[k], g[k]);
  }

  template <std::size_t kLeaves>
  struct Running {
    Parts<kLeaves> sum;
    HWY_INLINE Running() {}
  };

  template <std::size_t kLeaves, std::size_t kAll>
  HWY_INLINE void walk(const Starts<kLeaves>& actual, const Starts<kLeaves>& golden, std::size_t whole,
                       std::size_t first, Running<kAll>& to) const {
    Parts<kLeaves> sum;
    fill(sum, 0);
    for (std::size_t i = 0; i < whole; i += 8) {
      Parts<kLeaves> a, g;
      for (std::size_t k = 0; k < kParts<kLeaves>; ++k) {
        a[k] = load(actual, i, k);
        g[k] = load(golden, i, k);
      }
      make_terms(a, g);
      for (std::size_t k = 0; k < kParts<kLeaves>; ++k) sum[k] = hn::Add(sum[k], a[k]);
    }
    for (std::size_t k = 0, at = first / kLeaves * kParts<kLeaves>; k < kParts<kLeaves>; ++k, ++at)
      to.sum[at] = sum[k];
  }

  template <std::size_t kAll>
  static HWY_INLINE Divergence total(Running<kAll>& running) {
    return {add_up<kAll>(running.sum)};
  }

  template <std::size_t kLeaves>
  static HWY_INLINE void fold(const Running<kLeaves>& running, Divergence (&sums)[kLeaves]) {
    fold_parts<kLeaves>(running.sum, [&](std::size_t leaf, float sum) { sums[leaf].sum = sum; });
  }

  HWY_INLINE void add_pair(const float* actual, const float* golden, Divergence& sums) const {
    Vec a[] = {hn::Set(Lanes(), load_one(actual))}, g[] = {hn::Set(Lanes(), load_one(golden))};
    make_terms(a, g);
    sums.sum += hn::GetLane(a[0]);
  }
};

Divergence sum_divergence_simd(const float* actual, const float* golden, std::size_t count,
                               const PairScale& scale) {
  if (is_fast(scale)) {
    DivergenceLeaves<true> leaves(scale);
    return sum_tree<Divergence>(actual, golden, count, leaves);
  }
  DivergenceLeaves<false> leaves(scale);
  return sum_tree<Divergence>(actual, golden, count, leaves);
}

}  // namespace opdump::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace opdump::math {

OPDUMP_SIMD_EXPORT(sum_divergence_simd);

Divergence sum_divergence(const float* actual, const float* golden, std::size_t count,
                          const PairScale& scale) {
  return OPDUMP_SIMD(sum_divergence_simd)(actual, golden, count, scale);
}

}  // namespace opdump::math
#endif
