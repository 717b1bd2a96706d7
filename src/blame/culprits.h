// Which of the certain findings are one culprit, and how much of the final error goes away without each.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "blame/answer.h"
#include "blame/request.h"

namespace opdump::blame {

// Merges findings of `answer`, and sets `removes` of those of actual and `removed` if there are several
// culprits. `suspects`: the operators that differ, in order of execution; `read`: those whose outputs another
// one reads.
Result<> rank_culprits(BlameAnswer& answer, std::span<const compare::OperatorComparison> suspects,
                       const std::set<std::uint32_t>& read, const Replay& replay, std::uint64_t limit);

}  // namespace opdump::blame
