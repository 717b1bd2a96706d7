// Where to look for other culprits, which of the certain findings are one, and how much of the final error
// goes away without each.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "blame/answer.h"
#include "blame/request.h"

namespace opdump::blame {

// Chooses operators from `first` on to run again although the first culprit explains them. They add most to
// what they read, for their kind. The others add so little that little of the error goes away without it.
std::set<std::uint32_t> choose_further(std::span<const compare::OperatorComparison> suspects,
                                       std::uint32_t first);

// Merges findings of `answer`, sets `removes` of those of actual and `removed` if there are several culprits,
// and puts the most certain first. `suspects`: the operators that differ, in order of execution; `read`:
// those whose outputs another one reads.
Result<> rank_culprits(BlameAnswer& answer, std::span<const compare::OperatorComparison> suspects,
                       const std::set<std::uint32_t>& read, const Replay& replay, std::uint64_t limit);

}  // namespace opdump::blame
