// In which order the rows of one tensor lie in another one, by the numbers of their content.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weights/link.h"

namespace opdump::weights {

struct RowOrder {
  std::vector<RowRun> runs;
  std::string words;  // empty: one after the other, as they are
  double share = 0;   // of the rows that are where the order puts them
};

// The order of the same rows in two tensors: as they are, or from one rotary order into the other, in which
// each head has its rotated rows as pairs (0 1, 2 3, ...) or as halves (0 n/2, 1 n/2+1, ...).
RowOrder find_row_order(std::span<const std::uint64_t> golden, std::span<const std::uint64_t> actual);

// Where the rows of a part lie in a larger tensor. `part` is golden, `whole` is actual: exchange() turns the
// runs round. Rows of a part may lie together, or in groups between those of other parts, and in a rotary
// order.
struct PartPlace {
  RowOrder order;
  std::uint64_t groups = 1, offset = 0, rows = 0;  // rows of the part in a group, from the offset on
};
PartPlace find_place(std::span<const std::uint64_t> part, std::span<const std::uint64_t> whole);

void exchange(std::vector<RowRun>& runs);

}  // namespace opdump::weights
