// The SIMD half of metrics.h. Internal to math/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "math/metrics/tolerance.h"

namespace opdump::math {

// What pairs of finite elements add up to.
struct PairSums {
  double dot = 0, actual_squares = 0, golden_squares = 0;
  double differences = 0, difference_squares = 0;  // of |a - g|
  double max_abs = 0, max_rel = 0;
  std::uint64_t mismatch_count = 0;

  // One pair more.
  void add(double actual, double golden, Tolerance tolerance);
  // All of `other` more.
  void add(const PairSums& other);
};

// One element, wherever it lies.
template <typename T>
T load_lane(const T* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// The sums of `count` pairs, which need no alignment. If one of them is NaN or inf, or a square overflows,
// actual_squares or golden_squares is not finite, and nothing else in the result means anything.
PairSums sum_pairs(const float* actual, const float* golden, std::size_t count, Tolerance tolerance);
PairSums sum_pairs(const double* actual, const double* golden, std::size_t count, Tolerance tolerance);

}  // namespace opdump::math
