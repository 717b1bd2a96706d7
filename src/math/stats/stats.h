// Statistics of one tensor, in one pass over its memory. Definitions: mindspore.md 3.3.
//   - Every element counts as a double; complex tensors have no statistics (see has_statistics).
//   - max and min: NaN is sticky -- one NaN makes both NaN. Infinities take part. Empty: max -inf, min inf.
//     If both zeros are possible results, it is the first one.
//   - avg = sum / count over all elements; l2norm = sqrt(sum of squares). NaN and inf propagate.
//   - negative_count counts x < 0 (also -inf), positive_count x > 0 (also inf), zero_count x == 0 (both
//   zeros).
//   - The sign of a NaN result is the sign of the tensor's first NaN, or the hardware's for inf - inf.
// Sums are double, in our own order: the sixth printed digit agrees with the original, the last bit may
// not.
#pragma once

#include <cstdint>
#include <vector>

#include "math/stats/stat_partial.h"
#include "model/tensor_view.h"

namespace opdump::math {

struct Statistics {
  double max, min, avg, l2norm;
  double max_number, min_number;  // of the elements that are not NaN
  std::uint64_t count, negative_count, positive_count, zero_count;
  std::uint64_t nan_count, negative_inf_count, positive_inf_count;
};

// False for complex, fp8 and undefined elements.
bool has_statistics(model::DType dtype);

// One pass over `view` on the calling thread; any strides. SIMD is chosen at run time.
// Requires has_statistics(view.dtype).
StatPartial partial_stats(const model::TensorView& view, StatNeeds needs);

// `part` seen after `whole` (matters only for the signs of NaN and zero).
void merge(StatPartial& whole, const StatPartial& part);
Statistics finish(const StatPartial& whole);

// Cuts `view` along its outermost long dimension into pieces of about `piece_bytes`, so that threads can
// share a tensor. One piece if it is small or packed (int4, uint1). The pieces are in row-major order, unless
// the elements lie without holes in another order (channels last): then each piece is one stretch of memory.
std::vector<model::TensorView> split_view(const model::TensorView& view, std::uint64_t piece_bytes);

// A simple implementation of partial_stats: the reference for tests and fuzzing of the SIMD
// paths.
StatPartial partial_stats_reference(const model::TensorView& view, StatNeeds needs);

}  // namespace opdump::math
