// The ten metrics of msaccucmp (cann.md 4.7) as NumPy computes them in float32, to the last bit where IEEE
// arithmetic determines it: the same roundings, the same order of summation. a = actual, g = golden, rounded
// to float32:
//   cosine              sum((a / |a|) * (g / |g|)), at most 1
//   max_absolute        max |a - g|                  mean_absolute  mean |a - g|
//   accumulated_relative, max_relative, mean_relative  of |a / g - 1| where |g| > 2^-52, else 0
//   relative_euclidean  sqrt(sum((a - g)^2) / sum(g^2))     root_mean_square  sqrt(mean((a - g)^2))
//   divergence          Kullback-Leibler: each side brought to 0...1 by its range (unless that is 0), raised
//   to
//                       the float32 epsilon, divided by its sum: sum(p log(p / q))
//   mean, deviation     of each side in float64, over all elements
// NumPy adds up sums of 8192 elements; each of them is a tree of blocks of up to 128 elements with 8 running
// sums. All sums of one pass have the same tree, so they are computed together, and by several threads
// without a change of any bit. One thing depends on the machine in NumPy, the logarithm: on x86 with AVX2 it
// is a rational function of its own, elsewhere the C library's. So it is here, but that the float nearest to
// the exact logarithm stands for the C library's. (The norms are those that numpy.linalg.norm gives along an
// axis, which are sums of NumPy's own, not of BLAS.)
#pragma once

#include <cstdint>

#include "base/result.h"
#include "math/metrics/numpy_sums.h"
#include "model/tensor_view.h"

namespace opdump::math {

struct NumpyMetrics {
  std::uint64_t count = 0;
  float actual_norm = 0, golden_norm = 0;
  float cosine = 0;  // means nothing unless both norms are above 0
  float max_absolute = 0, accumulated_relative = 0, relative_euclidean = 0, divergence = 0;
  double actual_mean = 0, actual_deviation = 0, golden_mean = 0, golden_deviation = 0;
  float mean_absolute = 0, root_mean_square = 0, max_relative = 0, mean_relative = 0;
  bool operator==(const NumpyMetrics&) const = default;
};

// Compares in row-major order; of complex elements the real part. Without elements every mean is NaN, as in
// NumPy, and the maxima and the divergence are 0. Large contiguous tensors are shared between `threads`
// threads. Errors: unsupported -- the element counts differ, or a dtype is undefined.
Result<NumpyMetrics> numpy_metrics(const model::TensorView& actual, const model::TensorView& golden,
                                   NumpyMetricNeeds needs, unsigned threads);

// The cosine of two bool tensors of as many elements, which NumPy computes in float64; both norms are above
// 0.
struct BooleanCosine {
  double actual_norm = 0, golden_norm = 0, cosine = 0;
};
BooleanCosine numpy_boolean_cosine(const model::TensorView& actual, const model::TensorView& golden);

}  // namespace opdump::math
