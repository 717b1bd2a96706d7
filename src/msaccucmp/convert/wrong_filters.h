// FRACTAL_Z of a convolution with groups as msaccucmp makes it, for --bug-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/format.h"
#include "model/shape.h"

namespace opdump::msaccucmp {

// The original counts blocks of channels by the number of the block itself where it means how many a folded
// group has (cann.md 5.1): block (g / E) * k + k instead of (g / E) * C1 + k. What several groups then put
// into one place is that of the last one. `plain` is NCHW, NHWC or HWCN of `shape`, `stored` what FRACTAL_Z
// has by the rules. Errors: corrupt -- shapes that do not fit each other.
Result<std::vector<std::byte>> make_wrong_filters(std::span<const std::byte> elements,
                                                  std::size_t element_bytes, model::Format plain,
                                                  const model::Shape& shape, const model::Shape& stored,
                                                  std::int64_t groups);

}  // namespace opdump::msaccucmp
