// Maxima over the cells of a matrix: a level of a pyramid, each of whose cells has the value of largest
// magnitude among the elements below it, NaN before all.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/tensor_view.h"

namespace opdump::serve {

// Two tensors of one shape, or one, as matrices of `columns` elements in a row.
struct MatrixPair {
  const model::TensorView& golden;
  const model::TensorView* actual = nullptr;
  std::uint64_t rows = 0, columns = 0;
};

// Rows and columns from `row` and `column` on.
struct Region {
  std::uint64_t row = 0, column = 0, rows = 0, columns = 0;
};

struct MaxGrid {
  Region region;                             // that the cells share
  std::uint64_t height = 0, width = 0;       // cells
  std::array<std::vector<double>, 3> sides;  // golden, actual, difference; only golden of one tensor

  // Where a row or a column begins that has number `cell` of `cells`: cells differ by one element at most.
  static std::uint64_t begin_of(std::uint64_t cell, std::uint64_t cells, std::uint64_t elements) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(cell) * elements / cells);
  }

  // The cells whose elements have something of `part`, which lies in this region.
  Region cells_of(const Region& part) const;
  // Some cells of this grid as a coarser one of at most `most` x `most`.
  MaxGrid pooled(const Region& cells, std::uint64_t most) const;
};

// Reads all elements of the region, on all cores. At most `most` cells in each direction.
MaxGrid make_max_grid(const MatrixPair& pair, const Region& region, std::uint64_t most);

}  // namespace opdump::serve
