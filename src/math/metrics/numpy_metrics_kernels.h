// The SIMD half of numpy_metrics.h: sums over a branch of NumPy's summation tree. Internal to math/.
#pragma once

#include <cstddef>

#include "math/metrics/numpy_sums.h"

namespace opdump::math {

// `count` is at most kBranch; the elements need no alignment.
ErrorSums sum_errors(const float* actual, const float* golden, std::size_t count);
// What is not needed means nothing in the result.
SpreadSums sum_spread(const float* actual, const float* golden, std::size_t count, const PairScale& scale,
                      NumpyMetricNeeds needs);
Divergence sum_divergence(const float* actual, const float* golden, std::size_t count,
                          const PairScale& scale);

}  // namespace opdump::math
