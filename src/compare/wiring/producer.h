// Which execution made a tensor that another one reads, by what is in it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "dump/read/runs.h"

namespace opdump::compare {

// Where the execution of that rank, step, graph and name is.
std::optional<std::size_t> find_execution(const dump::Runs& runs, const dump::OperatorRun& run);

// The last execution before `reader`, of its rank, with an output for which `is_wanted` is true. It is asked
// only for outputs that have a tensor.
std::optional<std::size_t> find_last_output(const dump::Runs& runs, std::size_t reader,
                                            const std::function<bool(const dump::Slot& output)>& is_wanted);

}  // namespace opdump::compare
