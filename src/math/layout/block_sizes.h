// How large the blocks of a blocked layout are (cann.md 5).
#pragma once

#include <cstdint>

#include "model/dtype.h"

namespace opdump::math {

// Families of chips that cut alike.
enum class Chip : std::uint8_t {
  ascend,     // 310, 310P, 310B, 910A, 910B, A3
  ascend950,  // 950
  ascend350,
  ascend035,
  transfers,  // what the graph engine's own conversions assume when the format states nothing
};

struct BlockSizes {
  std::int64_t m0 = 16;  // rows of a matrix: FRACTAL_NZ
  std::int64_t c0 = 16;  // the innermost dimension
  std::int64_t n0 = 16;  // columns of a filter: FRACTAL_Z and its relatives
};

// The block sizes of `dtype` on `chip`.
BlockSizes block_sizes(model::DType dtype, Chip chip);

struct LayoutOptions {
  BlockSizes blocks;        // of a blocked layout that is to be made; formats that name their C0 ignore c0
  std::int64_t groups = 1;  // of a convolution: FRACTAL_Z and FRACTAL_Z_3D; 0 is 1
};

}  // namespace opdump::math
