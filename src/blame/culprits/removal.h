// Several culprits: how much of the final error each of them is to blame for. Actual's operators run again on
// what their inputs would be if an operator were not at fault; the errors at the ends show what is left.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "blame/request.h"
#include "compare/comparison.h"

namespace opdump::blame {

// Executions of one operator that are at fault in the same way.
struct FaultyOperator {
  std::vector<std::size_t> executions;  // as places in `operators`
  Without without;
};

struct Removal {
  // Holds for each culprit the share of the final error that is gone without it; 1 is all. What is left is
  // that of the others, and rounding.
  std::vector<double> shares;
  double together = 0;  // without any of them
  // False if `limit` was reached, or many elements; the final error is that of the last one that ran.
  bool is_whole = true;
  std::vector<std::string> ended;  // names of operators that end the worker: their outputs stay as they are
};

// `operators`: differing ones, in order of execution. `is_end`: those whose results no other one reads; the
// final error is the average of theirs. `replay` answers requests of blame/request.h, at most `limit` of
// them.
Result<Removal> measure_removal(std::span<const compare::OperatorComparison> operators,
                                const std::vector<bool>& is_end, std::span<const FaultyOperator> culprits,
                                const Replay& replay, std::uint64_t limit);

}  // namespace opdump::blame
