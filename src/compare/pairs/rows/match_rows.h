// Which row of one tensor is which of another, by what is in them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "compare/pairs/rows/axis_map.h"
#include "model/tensor_view.h"

namespace opdump::compare {

struct RowMatch {
  std::vector<std::pair<std::int64_t, std::int64_t>> rows;  // of golden and actual, by golden's number
  bool is_exact = true;                                     // bit by bit; else nearly
};

// Along the first axis, each row once. Nothing if none matches. Rows that are equal among themselves pair in
// order.
std::optional<RowMatch> match_rows(const model::TensorView& golden, const model::TensorView& actual);

// A row of golden and one of actual, and the stretch of positions that they have in common.
struct CellMatch {
  std::int64_t golden = 0, actual = 0;
  AxisStretch positions = {};
};

// Whether rows are not all alike, on the side that has more of them: else, which is which shows elsewhere.
bool tells_rows_apart(const model::TensorView& golden, const model::TensorView& actual);

// Of tensors of rows and positions, of which the runs have other numbers: each row of the one with fewer rows
// against the other's, by the longest stretch of equal positions. What pads a row, at its beginning or end,
// is no part of it. The stretch that begins at golden's position `next` comes first. Nothing if none matches.
std::vector<CellMatch> match_cells(const model::TensorView& golden, const model::TensorView& actual,
                                   std::optional<std::int64_t> next = std::nullopt);

// Of two tensors of which one has the positions of all rows of the other one in one row, without what pads
// these at their beginning or end: where each row is. Empty if that is not so.
std::vector<CellMatch> match_packed(const model::TensorView& golden, const model::TensorView& actual);

// Whether what two tensors have in common is not the same in all positions, as in a mask.
bool tells_positions_apart(const std::vector<CellMatch>& cells, const model::TensorView& golden);

// Whether each row of a tensor of rows and positions counts its positions, as 0, 0, 1, 2: it says where
// a position is, and not what is there.
bool counts_positions(const model::TensorView& tensor);

// Whether two tensors have the same in these parts, by one of the plans, at least nearly.
bool agree(const SlotParts& parts, const model::TensorView& golden, const model::TensorView& actual);

// Blocks of rows that follow one another, with the same positions.
std::vector<RowAxisMap::Block> join_cells(const std::vector<CellMatch>& cells);

// Blocks of rows that follow one another in both runs.
std::vector<RowAxisMap::Block> join_rows(const std::vector<std::pair<std::int64_t, std::int64_t>>& rows);

}  // namespace opdump::compare
