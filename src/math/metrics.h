// How far an actual tensor is from a golden one: every metric in one pass over both, in double.
//   a = actual, g = golden, over all elements:
//   cosine        sum(a g) / (|a| |g|); 1 if both are all zero, 0 if only one is
//   max_abs       max |a - g|            mean_abs  mean |a - g|
//   max_rel       max |a - g| / |g|, over elements with g != 0; an element with g == 0 and a != 0 counts as
//   inf relative_l2   |a - g| / |g|; 0 if both are zero, inf if only g is rmse          sqrt(mean (a - g)^2)
//   mismatch      elements that are not close: |a - g| <= atol + rtol |g| (numpy.isclose, not symmetric)
// Equal infinities differ by 0; NaN equals NaN (two runs that overflow at the same element agree), and such
// elements take no part in the sums; NaN or inf against anything else is a mismatch and makes max_abs and
// max_rel inf.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/tensor_view.h"

namespace opdump::math {

struct Tolerance {
  double rtol = 0, atol = 0;
};

struct Metrics {
  std::uint64_t count = 0, mismatch_count = 0;
  std::uint64_t nan_mismatch_count = 0;  // of these: NaN or inf on one side only
  double cosine = 1, max_abs = 0, max_rel = 0, relative_l2 = 0, mean_abs = 0, rmse = 0;
  std::uint64_t max_abs_index = 0;                // row-major index of the worst element
  double max_abs_actual = 0, max_abs_golden = 0;  // its two values
};

// Compares equal shapes; the dtypes may differ (float16 against float32). Complex elements count as two
// reals. Errors: unsupported -- shapes differ in element count, or a dtype without arithmetic (fp8).
Result<Metrics> compare_tensors(const model::TensorView& actual, const model::TensorView& golden,
                                Tolerance tolerance);

}  // namespace opdump::math
