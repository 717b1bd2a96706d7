// The rows that two runs have in common in one step, found in the data that their programs read.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "compare/comparison.h"
#include "compare/pairs/rows/axis_map.h"
#include "compare/pairs/rows/batches.h"
#include "compare/pairs/rows/row_origin.h"

namespace opdump::compare {

struct FoundMap {
  RowAxisMap map = {};
  std::string by = {};      // "equal elements of input.1 of Default/words-Embedding/embedding-op0"
  std::string doubt = {};   // empty: the data confirms it
  bool is_telling = false;  // that data is not alike in all rows and positions, and a module reads it
};

// Of the whole pairs at `places`. `next`: the position of golden at which the step may go on. `split`: the
// rows that the steps should have in common, which the data then only confirms; a step may have some of those
// that operators of both runs made. Null: unknown. Nothing where no operator has other rows, where an
// operator and not the data made them other, or where the data of the two runs has no row in common, unless
// `wanted` says which rows are the same.
std::optional<FoundMap> find_axis_map(const PairedRuns& runs, std::span<const std::size_t> places,
                                      const std::vector<std::pair<std::int64_t, std::int64_t>>& wanted,
                                      std::optional<std::int64_t> next, const SplitRows* split,
                                      RowOrigins& origins);

// Whether an operator of a pair reads data of other shapes, or tensors that operators made other.
bool reads_other_shapes(const PairedRuns& runs, std::span<const std::size_t> places, RowOrigins& origins);

// The same where no shape differs: the rows of data that one run has in another order, each of them. Nothing
// if the first data that differs is not such.
std::optional<FoundMap> find_order_map(const PairedRuns& runs, std::span<const std::size_t> places,
                                       RowOrigins& origins);

}  // namespace opdump::compare
