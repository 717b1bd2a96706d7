// Where tensors of a recorded run come from, as their elements tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "dump/read/operator_run.h"
#include "dump/read/runs.h"

namespace opdump::blame {

// The operator that made what `reader` reads, else the last one before it with an output that this is a part
// of.
std::optional<dump::OperatorRun> find_producer(const dump::Runs& runs, const dump::OperatorRun& reader,
                                               const std::vector<std::uint64_t>& elements);

// Explains what `reader` of golden reads and no operator made as a whole: memory that operators fill in
// parts, as a cache of keys, where a part lies at another place, or data that differs.
std::string explain_data(const dump::Runs& golden_runs, const dump::OperatorRun& reader,
                         const compare::SlotComparison& slot, const std::vector<std::uint64_t>& golden,
                         const std::vector<std::uint64_t>& actual);

// Whether a step of a rank was recorded.
bool has_step(const dump::Runs& runs, std::uint32_t rank, std::int64_t step);

// Whether these are the same execution, or its partner in the other run.
bool are_one(const dump::OperatorRun& a, const dump::OperatorRun& b);

}  // namespace opdump::blame
