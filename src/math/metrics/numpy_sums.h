// What the passes of numpy_metrics.h add up. Internal to math/, but for what a caller needs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

namespace opdump::math {

// Passes over both tensors beyond the first one, which is always made.
struct NumpyMetricNeeds {
  bool cosine = true, deviation = true, divergence = true;
};

inline constexpr std::size_t kLeaf = 128;     // elements at most
inline constexpr std::size_t kBranch = 2048;  // elements at most of a call; NumPy's buffers divide into these

// Where NumPy's sum of `count` elements divides.
constexpr std::size_t left_half(std::size_t count) { return count / 2 - count / 2 % 8; }

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

struct Divergence {
  float sum = 0;

  void add(const Divergence& right) { sum += right.sum; }
};

}  // namespace opdump::math
