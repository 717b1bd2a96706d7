// The names, phases and lines that the graphs beside a dump give its operators: MindSpore's own dumps have no
// log, and only their graphs have the full names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "base/result.h"
#include "dump/read/problems.h"
#include "dump/read/runs.h"

namespace opdump::dump {

// Sets which operator each execution of `rank` is, as far as the graphs of its directory say: in the graph of
// the execution (dump/read/graph_nodes.h), else in the only one that has the name. Graphs that cannot be read
// are problems. Returns how many operators the graphs executed of which the dump has nothing, by
// kind_name() of dump/read/graph_nodes.h. Errors: io.
Result<std::map<std::string, std::uint64_t>> name_by_graphs(Runs& runs, std::uint32_t rank,
                                                            const std::filesystem::path& rank_directory,
                                                            Problems& problems);

}  // namespace opdump::dump
