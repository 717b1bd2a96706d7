// The distance of an actual tensor from a golden one: every metric in one pass over both, in double.
//   a = actual, g = golden, over all elements:
//   cosine       sum(a g) / (|a| |g|); 1 if both are all zero, 0 if only one is
//   max_abs      max |a - g|             mean_abs  mean |a - g|
//   max_rel      max |a - g| / |g|; an element with g == 0 counts as 0 if a == 0, else as inf
//   relative_l2  |a - g| / |g|; 0 if both are zero, inf if only g is
//   rmse         sqrt(mean (a - g)^2)
//   actual_norm  |a|; NaN if elements are left out of it
//   mismatch     elements that are not close: |a - g| <= atol + rtol |g| (numpy.isclose, not symmetric)
// Equal infinities differ by 0 and NaN equals NaN (two runs that overflow at the same element agree). NaN or
// inf against anything else is a mismatch and makes every metric of distance inf: max_abs, max_rel, mean_abs,
// rmse, relative_l2. Elements with a NaN or inf are left out of sums, so cosine covers the other elements.
// The largest number of a type equals the largest one of another type, and the lowest one lower ones: they
// stand for infinity. So does Tolerance::filler.
// Where squares of float64 overflow, the metrics computed from them are inf or NaN.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "math/metrics/tolerance.h"
#include "model/tensor_view.h"

namespace opdump::math {

struct Metrics {
  std::uint64_t count = 0, mismatch_count = 0;
  std::uint64_t nan_mismatch_count = 0;  // of these: NaN or inf against something else
  double cosine = 1, max_abs = 0, max_rel = 0, relative_l2 = 0, mean_abs = 0, rmse = 0;
  std::uint64_t max_abs_index = 0;                // row-major index of the first worst element
  double max_abs_actual = 0, max_abs_golden = 0;  // its two values; of a complex element the worse part
  double actual_norm = 0;
};

// Compares element by element, in row-major order; the dtypes may differ (float16 against float32). Complex
// elements count as two reals, but max_abs_index counts elements.
// Errors: unsupported -- the element counts differ, complex against real, or the undefined dtype.
// Large contiguous tensors are shared between up to `threads` threads (0: one per core); the result does not
// depend on their number.
Result<Metrics> compare_tensors(const model::TensorView& actual, const model::TensorView& golden,
                                Tolerance tolerance, unsigned threads = 1);

// compare_tensors in the plainest way possible, for the tests. Requires what compare_tensors checks.
Metrics compare_tensors_reference(const model::TensorView& actual, const model::TensorView& golden,
                                  Tolerance tolerance);

}  // namespace opdump::math
