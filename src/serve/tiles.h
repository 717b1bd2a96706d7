// A part of a tensor as a picture of at most 256 x 256 cells that never loses its worst element.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "serve/max_grid.h"

namespace opdump::serve {

// Rows and columns of a tensor seen as a matrix: the dimensions before `across`, and those from it on.
struct TileRequest {
  std::int64_t rank = 0, step = 0, graph = 0;
  std::string golden_operator, actual_operator, slot;
  std::size_t across = 0;
  std::uint64_t row = 0, column = 0, rows = 0, columns = 0;  // 0 rows or columns: all that follow
};

// The elements of dumps, found by the names of operators and never by paths. May be asked by several threads.
class TileSource {
 public:
  // Of a dump in MindSpore's tree only the steps are opened that are looked at, when they are; others are
  // opened as a whole then. `actual` may be empty. Errors: not_found.
  static Result<TileSource> open(const std::string& golden, const std::string& actual);

  // A line of JSON: {"rows", "columns": of the matrix, "row", "column", "shown_rows", "shown_columns",
  // "height", "width": cells, "sides": ["golden", "actual", "difference"]}. Behind it float64, little-endian:
  // of each side the value of largest magnitude of each cell, row by row. A large part may be shown a little
  // larger than it was asked for: it begins and ends with cells of the grid that is kept of the tensor.
  // Errors: not_found, usage, those of StoredTensor.
  Result<std::string> tile(const TileRequest& request) const;

  static constexpr std::uint64_t kMostCells = 256;  // in each direction

 private:
  class Side;
  struct Grids;  // of tensors that were looked at as a whole
  Result<std::shared_ptr<const MaxGrid>> whole(const TileRequest& request, const MatrixPair& pair) const;
  std::shared_ptr<Side> golden_, actual_;
  std::shared_ptr<Grids> grids_;
};

}  // namespace opdump::serve
