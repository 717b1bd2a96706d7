// This divides the work of a comparison between processes (CompareOptions::share). Each process has opened
// both dumps and paired them; who sees what process 0 sees takes part.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "compare/measure/tasks.h"
#include "group/shared_work.h"

namespace opdump::compare {

// `rounds` is how often share_tasks() will be called. Errors: as SharedWork::join; internal -- this process
// sees other files than process 0.
Result<group::SharedWork> join_comparison(const group::Share& share, const dump::DumpSet& golden,
                                          const dump::DumpSet& actual, std::uint64_t rounds);

// Measures a part of `tasks` -- about as many bytes as every other process -- and fills in what the others
// measured. Adds to `incomplete` what no process did. `done` and `total` as in run_tasks. Errors: those of
// exchange.
Result<> share_tasks(group::SharedWork& work, std::span<Task> tasks, const CompareOptions& options,
                     std::uint64_t done, std::uint64_t total, std::vector<std::string>& incomplete);

}  // namespace opdump::compare
