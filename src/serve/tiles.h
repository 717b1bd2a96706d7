// A part of a tensor as a picture of at most 256 x 256 cells that never loses its worst element.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "dump/read/dump_set.h"

namespace opdump::serve {

// Rows and columns of a tensor seen as a matrix: the dimensions before `across`, and those from it on.
struct TileRequest {
  std::int64_t rank = 0, step = 0, graph = 0;
  std::string golden_operator, actual_operator, slot;
  std::size_t across = 0;
  std::uint64_t row = 0, column = 0, rows = 0, columns = 0;  // 0 rows or columns: all that follow
};

// The elements of dumps, found by the names of operators and never by paths.
class TileSource {
 public:
  // Errors: those of DumpSet::open. `actual` may be empty.
  static Result<TileSource> open(const std::string& golden, const std::string& actual);

  // {"rows", "columns": of the matrix, "row", "column", "shown_rows", "shown_columns", "height", "width":
  // cells, "golden", "actual", "difference": the value of largest magnitude of each cell, row by row}.
  // Errors: not_found, usage, those of StoredTensor.
  Result<std::string> tile(const TileRequest& request) const;

 private:
  struct OpenDump {
    explicit OpenDump(dump::DumpSet opened);
    Result<dump::Slot> find(const TileRequest& request, const std::string& name) const;
    dump::DumpSet dump;
    std::multimap<std::string, std::uint32_t> by_name;
  };
  std::shared_ptr<const OpenDump> golden_, actual_;
};

}  // namespace opdump::serve
