// How an error reached the end of the run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "blame/request.h"
#include "compare/comparison.h"

namespace opdump::blame {

// One line for each operator after `culprit` that differs more than all before it, and for the last one: its
// name, by how much it differs, and, if several of its inputs differ, how much of that each brings. At most
// seven. `suspects` are in the order of execution. Errors: those of `replay`.
Result<std::vector<std::string>> describe_chain(std::span<const compare::OperatorComparison> suspects,
                                                const dump::OperatorRun& culprit, const Replay& replay);

}  // namespace opdump::blame
