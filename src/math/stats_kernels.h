// The SIMD half of stats.h: elements that lie together in memory.
#pragma once

#include <cstddef>

#include "math/stats.h"

namespace opdump::math {

// Adds `count` elements of `dtype` at `data` (aligned as the dtype needs) to `total`: max, min, sum, squares
// and has_nan always -- together they cost as much as the memory read alone -- and the counts other than
// `count` if asked. nan_negative and the sign of a zero max or min are the caller's.
// Requires 8 bits or more to an element and has_statistics(dtype).
void add_dense(model::DType dtype, const std::byte* data, std::size_t count, bool counts, StatPartial& total);

}  // namespace opdump::math
