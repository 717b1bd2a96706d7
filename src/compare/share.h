// Dividing the work of a comparison between processes (Options::share). Each process has opened both dumps
// and paired them; who sees what process 0 sees takes part.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "compare/shared_work.h"
#include "compare/tasks.h"

namespace opdump::compare {

// Measures a part of `tasks` -- about as many bytes as every other process -- and fills in what the others
// measured. Adds to `incomplete` why a process was left out. Errors: those of exchange; internal -- process 0
// is left out.
Result<> share_tasks(std::span<Task> tasks, const dump::DumpSet& golden, const dump::DumpSet& actual,
                     const Options& options, std::vector<std::string>& incomplete);

}  // namespace opdump::compare
