// The SIMD half of numpy_metrics.h: sums over one leaf of NumPy's summation tree. Internal to math/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace opdump::math {

inline constexpr std::size_t kLeaf = 128;  // elements at most

struct ErrorSums {
  float difference = 0, difference_squares = 0, actual_squares = 0, golden_squares = 0, relative = 0;
  double actual = 0, golden = 0;
  float max_difference = 0, max_relative = 0;  // mean nothing if the sum is NaN
  float actual_min = std::numeric_limits<float>::infinity(), actual_max = -actual_min;
  float golden_min = actual_min, golden_max = -actual_min;

  void add(const ErrorSums& right);
};

// What the second pass needs to know of the first.
struct SideScale {
  float norm = 1;
  double mean = 0;
  float min = 0, range = 1;  // of the divergence
  float weight = 1;          // of the divergence: the sum of what min and range make
};
struct PairScale {
  SideScale actual, golden;
};

struct SpreadSums {
  float product = 0;                              // cosine
  double actual_squares = 0, golden_squares = 0;  // of distances from the mean
  float actual_weight = 0, golden_weight = 0;     // divergence

  void add(const SpreadSums& right);
};

// The logarithm that NumPy gives the elements of a float32 array on processors with fused multiplication, to
// the bit: x = 2^e m with m from sqrt(1/2), itself excluded, to sqrt(2), and
// log x = e log 2 + P(m - 1) / Q(m - 1). These are the coefficients of P and Q, the constant term first.
inline constexpr float kLogP[] = {0, 1, 2.11267754F, 1.48000063F, 0.380883774F, 0.0258997981F};
inline constexpr float kLogQ[] = {1, 2.61267754F, 2.45300607F, 0.986494296F, 0.154647638F, 0.0058750954F};
inline constexpr float kLogOf2 = 0.693147182F;
inline constexpr std::int32_t kAboveRootOfHalf = 0x3F3504F4;  // the bits of the smallest m
float numpy_log(float x);                                     // of a normal number above 0

// `count` is at most kLeaf.
ErrorSums sum_errors(const float* actual, const float* golden, std::size_t count);
float sum_products(const float* actual, const float* golden, std::size_t count, const PairScale& scale);
double sum_distances(const float* side, std::size_t count, double mean);
float sum_weights(const float* side, std::size_t count, const SideScale& scale);
float sum_divergence(const float* actual, const float* golden, std::size_t count, const PairScale& scale);

}  // namespace opdump::math
