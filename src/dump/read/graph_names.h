// The names, phases and lines that the graphs beside a dump give its operators: MindSpore's own dumps have no
// log, and only their graphs have the full names.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"
#include "dump/read/problems.h"
#include "dump/read/runs.h"

namespace opdump::dump {

// Sets which operator each execution of `rank` is, as far as the graphs of its directory say: in the graph of
// the execution, else in the only one that has the name. Graphs that cannot be read are problems. Errors: io.
Result<> name_by_graphs(Runs& runs, std::uint32_t rank, const std::filesystem::path& rank_directory,
                        Problems& problems);

}  // namespace opdump::dump
