// NumPy's arithmetic, written down once more and one element at a time. bench/metrics_vs_numpy.py compares
// with NumPy itself.
#include "math/metrics/numpy_metrics.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "math/convert.h"
#include "math/test_tensors.h"

namespace opdump::math {
namespace {

using model::DType;
using model::TensorView;
using Floats = std::vector<float>;

template <typename T>
T pairwise(const std::vector<T>& x, std::size_t first, std::size_t count) {
  if (count > 128) {
    const std::size_t left = count / 2 / 8 * 8;
    const T sum = pairwise(x, first, left);
    return sum + pairwise(x, first + left, count - left);
  }
  T sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (std::size_t k = 0; k < 8; ++k) sums[k] += x[first + i + k];
  T sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  for (; i < count; ++i) sum += x[first + i];
  return sum;
}

template <typename T>
T numpy_sum(const std::vector<T>& x) {
  T sum = 0;
  for (std::size_t i = 0; i < x.size(); i += 8192)
    sum += pairwise(x, i, std::min<std::size_t>(8192, x.size() - i));
  return sum;
}

Floats map_pairs(const Floats& a, const Floats& g, const std::function<float(float, float)>& f) {
  Floats result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = f(a[i], g[i]);
  return result;
}

float mean_of(const Floats& x) { return static_cast<float>(numpy_sum(x) / static_cast<double>(x.size())); }

std::pair<double, double> mean_and_deviation(const Floats& x) {
  const std::vector<double> wide(x.begin(), x.end());
  const auto count = static_cast<double>(x.size());
  const double mean = numpy_sum(wide) / count;
  std::vector<double> squares;
  for (const double value : wide) {
    const double distance = value - mean;
    squares.push_back(distance * distance);
  }
  return {mean, std::sqrt(numpy_sum(squares) / count)};
}

Floats probabilities(Floats x) {
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  const float min = *least, range = *most - *least;
  for (float& value : x) {
    if (range != 0) value = (value - min) / range;
    if (value < 0x1p-23f) value = 0x1p-23f;
  }
  const float sum = numpy_sum(x);
  for (float& value : x) value /= sum;
  return x;
}

// With fused multiplication on x86 that of NumPy, a few last places off; elsewhere that of the C library.
float numpy_log(float x, bool is_fused) {
  if (!is_fused) return static_cast<float>(std::log(static_cast<double>(x)));
  int exponent = 0;
  float m = std::frexp(x, &exponent);
  if (m <= 0.70710677f) {
    m *= 2;
    --exponent;
  }
  m -= 1;
  const auto polynomial = [m](std::initializer_list<float> factors) {
    float sum = 0;
    for (const float factor : factors) sum = std::fma(sum, m, factor);
    return sum;
  };
  const float above = polynomial({2.589979117907922693523e-02f, 3.808837741388407920751e-01f,
                                  1.480000633576506585156e+00f, 2.112677543073053063722e+00f, 1, 0});
  const float below =
      polynomial({5.875095403124574342950e-03f, 1.546476374983906719538e-01f, 9.864942958519418960339e-01f,
                  2.453006071784736363091e+00f, 2.612677543073109236779e+00f, 1});
  return std::fma(static_cast<float>(exponent), 0.693147180559945309f, above / below);
}

Floats divergence_terms(const Floats& a, const Floats& g) {
  const bool is_fused = (simd_targets() & (HWY_AVX2 | HWY_AVX3)) != 0;
  return map_pairs(probabilities(a), probabilities(g),
                   [&](float p, float q) { return p * numpy_log(p / q, is_fused); });
}

void expect_same(float actual, float expected) {
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(actual)) << actual;
  else
    EXPECT_EQ(actual, expected);
}

// All but what hangs on the norms' last bits.
void expect_numpy(const NumpyMetrics& metrics, const Floats& a, const Floats& g) {
  const Floats distance = map_pairs(a, g, [](float x, float y) { return std::abs(x - y); });
  const Floats squares = map_pairs(distance, distance, [](float x, float y) { return x * y; });
  const Floats g_squares = map_pairs(g, g, [](float x, float y) { return x * y; });
  const Floats relative =
      map_pairs(a, g, [](float x, float y) { return std::abs(y) > 0x1p-52f ? std::abs(x / y - 1) : 0.0f; });
  EXPECT_EQ(metrics.count, a.size());
  expect_same(metrics.max_absolute, *std::ranges::max_element(distance));
  expect_same(metrics.accumulated_relative, numpy_sum(relative));
  expect_same(metrics.relative_euclidean, std::sqrt(numpy_sum(squares) / numpy_sum(g_squares)));
  expect_same(metrics.mean_absolute, mean_of(distance));
  expect_same(metrics.root_mean_square, std::sqrt(mean_of(squares)));
  expect_same(metrics.max_relative, *std::ranges::max_element(relative));
  expect_same(metrics.mean_relative, mean_of(relative));
  EXPECT_EQ(std::pair(metrics.actual_mean, metrics.actual_deviation), mean_and_deviation(a));
  EXPECT_EQ(std::pair(metrics.golden_mean, metrics.golden_deviation), mean_and_deviation(g));
  const double norm_a = std::sqrt(std::inner_product(a.begin(), a.end(), a.begin(), 0.0));
  const double norm_g = std::sqrt(std::inner_product(g.begin(), g.end(), g.begin(), 0.0));
  EXPECT_NEAR(metrics.actual_norm, norm_a, 1e-6 * norm_a);
  const float a_norm = metrics.actual_norm, g_norm = metrics.golden_norm;
  const Floats products = map_pairs(a, g, [&](float x, float y) { return (x / a_norm) * (y / g_norm); });
  expect_same(metrics.cosine, std::min(numpy_sum(products), 1.0f));
  EXPECT_NEAR(metrics.cosine, std::inner_product(a.begin(), a.end(), g.begin(), 0.0) / norm_a / norm_g, 1e-5);
  const float divergence = numpy_sum(divergence_terms(a, g));
  expect_same(metrics.divergence, std::abs(divergence) < 0x1p-52f ? 0 : divergence);
}

Floats random_floats(std::size_t count, float noise, const Floats* like, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Floats result(count);
  for (std::size_t i = 0; i < count; ++i)
    result[i] = like != nullptr ? (*like)[i] + noise * normal(random) : normal(random);
  return result;
}

TensorView view_of(const Floats& x) {
  return TensorView::row_major(DType::float32, {static_cast<std::int64_t>(x.size())}, x.data());
}

TEST(NumpyMetrics, RoundAsNumpyDoes) {
  std::mt19937 random(1);
  for_each_instruction_set([&] {
    for (const std::size_t count : {1,  2,   5,   7,   8,   9,   15,   16,   31,   32,   63,   64,
                                    65, 100, 127, 128, 129, 200, 1000, 4097, 8191, 8192, 8193, 20011})
      for (const float noise : {1e-4f, 0.1f, 3.0f}) {
        SCOPED_TRACE(count);
        const Floats a = random_floats(count, 0, nullptr, random),
                     g = random_floats(count, noise, &a, random);
        const auto metrics = numpy_metrics(view_of(a), view_of(g), {}, 1);
        ASSERT_TRUE(metrics);
        expect_numpy(*metrics, a, g);
      }
  });
}

TEST(NumpyMetrics, ScalesThatLeaveTheFastPath) {
  std::mt19937 random(2);
  for_each_instruction_set([&] {
    for (const float scale : {1e-38f, 1e-30f, 1e-19f, 1e17f, 1e18f}) {
      SCOPED_TRACE(scale);
      Floats a = random_floats(777, 0, nullptr, random), g = random_floats(777, 0.5f, &a, random);
      for (Floats* side : {&a, &g})
        for (float& value : *side) value *= scale;
      const auto metrics = numpy_metrics(view_of(a), view_of(g), {}, 1);
      ASSERT_TRUE(metrics);
      expect_same(metrics->divergence, numpy_sum(divergence_terms(a, g)));
      const Floats products = map_pairs(
          a, g, [&](float x, float y) { return (x / metrics->actual_norm) * (y / metrics->golden_norm); });
      expect_same(metrics->cosine, std::min(numpy_sum(products), 1.0f));
    }
  });
}

// What NumPy 1.24 says of these, on machines with and without AVX2.
TEST(NumpyMetrics, NumpysNumbers) {
  const std::pair<std::size_t, float> known[] = {
      {100, 0x1.138c6p-1f}, {300, 0x1.10fdf8p-1f}, {999, 0x1.3869a8p-1f}, {1500, 0x1.38b3a4p-1f}};
  for (const auto& [count, divergence] : known) {
    Floats a, g;
    for (std::size_t i = 0; i < count; ++i) {
      a.push_back(static_cast<float>(i * 37 % 101) / 64);
      g.push_back(static_cast<float>(i * 53 % 97) / 64);
    }
    EXPECT_EQ(numpy_metrics(view_of(a), view_of(g), {}, 1)->divergence, divergence);
  }
}

TEST(NumpyMetrics, ThreadsChangeNoBit) {
  std::mt19937 random(3);
  const Floats a = random_floats(1'300'003, 0, nullptr, random),
               g = random_floats(a.size(), 0.2f, &a, random);
  const auto one = numpy_metrics(view_of(a), view_of(g), {}, 1);
  for (const unsigned threads : {2u, 5u}) {
    const auto several = numpy_metrics(view_of(a), view_of(g), {}, threads);
    ASSERT_TRUE(several);
    EXPECT_TRUE(*several == *one);
  }
  expect_numpy(*one, a, g);
}

TEST(NumpyMetrics, FloatsThatLieAnywhere) {
  std::mt19937 random(5);
  const Floats a = random_floats(9001, 0, nullptr, random), g = random_floats(a.size(), 0.2f, &a, random);
  const std::size_t bytes = a.size() * sizeof(float);
  std::vector<std::byte> memory(bytes + 1);
  std::memcpy(memory.data() + 1, g.data(), bytes);
  const TensorView moved = TensorView::row_major(DType::float32, {9001}, memory.data() + 1);
  for_each_instruction_set([&] {
    const auto metrics = numpy_metrics(view_of(a), moved, {}, 1);
    ASSERT_TRUE(metrics);
    EXPECT_TRUE(*metrics == *numpy_metrics(view_of(a), view_of(g), {}, 1));
  });
}

TEST(NumpyMetrics, EveryDTypeAsRoundedFloats) {
  std::mt19937_64 random(4);
  for (int number = 1; number < model::kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    const model::DTypeInfo& info = model::dtype_info(dtype);
    SCOPED_TRACE(info.name);
    if (info.kind == model::DTypeKind::complex || float_format(dtype).infinity == 0) continue;
    const auto memory = random_memory(dtype, ElementKind::ordinary, 600, random);
    Floats expected(300);
    for (std::size_t i = 0; i < 300; ++i)
      expected[i] =
          static_cast<float>(element_as_double(dtype, memory.data(), 2 * static_cast<std::int64_t>(i)));
    const TensorView every_second{dtype, {300}, {2}, memory.data()};
    const auto strided = numpy_metrics(every_second, view_of(expected), {}, 2);
    ASSERT_TRUE(strided);
    EXPECT_EQ(strided->max_absolute, 0);
    expect_numpy(*strided, expected, expected);
  }
  const std::int64_t large[] = {(std::int64_t{1} << 62) + 1, -3, 16777217, (std::int64_t{1} << 40) + 65537};
  Floats rounded;
  for (const std::int64_t value : large) rounded.push_back(static_cast<float>(value));
  EXPECT_EQ(
      numpy_metrics(TensorView::row_major(DType::int64, {4}, large), view_of(rounded), {}, 1)->max_absolute,
      0);
}

TEST(NumpyMetrics, SpecialValues) {
  const Floats finite = {1, 2, 3}, nan = {1, NAN, 3}, inf = {1, INFINITY, 3}, none;
  const auto of = [](const Floats& a, const Floats& g) {
    return *numpy_metrics(view_of(a), view_of(g), {}, 1);
  };
  EXPECT_TRUE(std::isnan(of(nan, finite).max_absolute));
  EXPECT_TRUE(std::isnan(of(nan, finite).max_relative));
  EXPECT_EQ(of(finite, nan).max_relative, 0);
  EXPECT_EQ(of(inf, finite).max_absolute, INFINITY);
  EXPECT_TRUE(std::isnan(of(inf, finite).divergence));
  EXPECT_TRUE(std::isnan(of({3e38F, 0, -3e38F}, finite).divergence));  // 3e38 - -3e38 is inf
  EXPECT_TRUE(std::isnan(of(inf, finite).cosine));
  EXPECT_TRUE(std::isnan(of(none, none).mean_absolute));
  EXPECT_EQ(of(none, none).accumulated_relative, 0);
  EXPECT_FALSE(numpy_metrics(view_of(finite), view_of(none), {}, 1));
}

// Bits that numpy.log gives; the float nearest to the exact logarithm is another one in the first five.
TEST(NumpyMetrics, LogarithmIsNumpys) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kLogarithms[] = {
      {0x3fb504f3, 0x3eb17218}, {0x3f3504f3, 0xbeb17218}, {0x3f800001, 0x33fffffe}, {0x43890c8a, 0x40b3a1ad},
      {0x3f3504f4, 0xbeb17215}, {0x3f800000, 0},          {0x3f000000, 0xbf317218}, {0x34000000, 0xc17f1402},
      {0x0da24260, 0xc28a27b5}, {0x7f61b1e6, 0x42b13196}, {0x3dba6b55, 0xc019623c}};
  for (const auto& [x, log] : kLogarithms)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(numpy_log(std::bit_cast<float>(x), true)), log) << std::hex << x;
}

TEST(NumpyMetrics, BooleanCosine) {
  const bool a[] = {true, false, true, true}, g[] = {true, true, true, false};
  const auto result = numpy_boolean_cosine(TensorView::row_major(DType::boolean, {4}, a),
                                           TensorView::row_major(DType::boolean, {4}, g));
  EXPECT_NEAR(result.cosine, 2.0 / 3, 1e-12);
  EXPECT_EQ(result.actual_norm, std::sqrt(3.0));
}

}  // namespace
}  // namespace opdump::math
