// Which of many graph files belongs to a dump, as CANN's page on training networks has people do it by hand:
//   1. among ge_proto_*_Build.txt those whose text has the word Iterator -- the engine feeds a training graph
//      from an iterator -- or that hold an operator one knows;
//   2. of several the one with the highest number, which was built last;
//   3. the name of its first graph is the directory {model_name} of the dump.
// Graphs that opdump recorded have no iterator: nothing in PyTorch's graph feeds it. Where no text has the
// word, graphs with a backward or optimizer part are chosen, then those with an operator of type Data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dump/read/dump_set.h"

namespace opdump::dump {

// "ge_proto_00292_Build.txt", "ge_proto_00000001_graph_11_Build.txt"; 5 or 8 digits, with or without the id.
struct GeGraphFileName {
  std::uint64_t number = 0;
  std::optional<std::int64_t> graph_id;
  std::string stage;
  bool operator==(const GeGraphFileName&) const = default;
};
// Returns nothing for other names.
std::optional<GeGraphFileName> parse_ge_graph_file_name(std::string_view name);

struct GeGraphCandidate {
  std::filesystem::path path;
  GeGraphFileName name;
  std::string graph_name;  // of the first graph in it
  // What it is chosen by; `training` is of opdump's graphs.
  bool has_iterator = false, is_training = false, has_data = false, has_operator = false;
  std::size_t operator_count = 0;
};

struct GeGraphSearch {
  std::vector<GeGraphCandidate> candidates;  // all Build graphs, by number
  std::optional<std::size_t> chosen;         // into candidates
  std::string reason;                        // why: "holds the operator conv1"
  std::vector<Problem> problems;             // files that are no graphs
};

// Looks for Build graphs in a directory and below. `op`: the name of an operator, or of one of the user's
// model that an operator was made of; empty for the page's other way. Nothing is chosen if no graph holds it.
// Errors: not_found, io.
Result<GeGraphSearch> find_ge_graph(const std::filesystem::path& directory, std::string_view op);

// The directories of a dump that hold what the graph executed, sorted: {model_name}, or {model_name}/{id}
// where the model has a directory of the graph's id.
std::vector<std::filesystem::path> find_model_directories(const std::filesystem::path& dump,
                                                          const GeGraphCandidate& graph);

}  // namespace opdump::dump
