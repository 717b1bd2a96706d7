// The SIMD part of stats.h: contiguous elements.
#pragma once

#include <cstddef>

#include "math/stats/stat_partial.h"
#include "model/dtype.h"

namespace opdump::math {

// Adds `count` elements of `dtype` at `data` (no alignment needed) to `total`: what `needs` asks for, and
// max, min, squares and has_nan always, because these cost no more than reading the memory. The caller sets
// `count`, nan_negative and the sign of a zero max or min. Requires 8 bits or more to an element and
// has_statistics(dtype).
void add_dense(model::DType dtype, const std::byte* data, std::size_t count, StatNeeds needs,
               StatPartial& total);

}  // namespace opdump::math
