// graphs/ and execution_order/ of a rank directory, mindspore.md 2.1 and 5; page: docs/formats/graphs.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "dump/read/dump_set.h"
#include "model/graph.h"

namespace opdump::dump {

// Writes graphs/ms_output_trace_code_graph_{id}.ir and .pb and
// execution_order/ms_execution_order_graph_{id}.csv (0400, directories 0700), in place of older ones. Text of
// the program is read from its source files, where these can be read. Errors: io.
Result<> write_graph(const std::filesystem::path& rank_directory, const model::Graph& graph);

// Appends a step to execution_order/ms_global_execution_order_graph_{id}.csv (0600). Errors: io.
Result<> append_global_order(const std::filesystem::path& rank_directory, std::int64_t graph_id,
                             std::int64_t step);

// The graphs of one id.
struct GraphFile {
  std::int64_t id = 0;
  std::filesystem::path path;         // the .ir, or the .pb where the .ir is missing or unreadable
  std::vector<model::Graph> graphs;   // sub-graphs follow their entry
  std::vector<std::string> order;     // full names as executed; empty if there is no such file
  std::vector<std::int64_t> history;  // the steps in which it was executed, as far as a file says
};

struct RankGraphs {
  std::vector<GraphFile> files;  // by id
  std::vector<Problem> problems;
};
// Nothing in it if the rank has no graphs. Errors: io.
Result<RankGraphs> read_graphs(const std::filesystem::path& rank_directory);

// The graphs in a file, an .ir or a .pb by its content. Errors: not_found, io, corrupt, limit.
Result<std::vector<model::Graph>> read_graph_file(const std::filesystem::path& path);

}  // namespace opdump::dump
