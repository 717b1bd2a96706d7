// The graphs of a dump, and which of their nodes the executions in the dump are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/slot_facts.h"
#include "dump/read/dump_set.h"
#include "model/graph.h"

namespace opdump::cli {

// An input or output of a node.
struct NodeSlot {
  std::size_t node = 0;  // into Graph::nodes
  std::uint32_t index = 0;
};

// One graph: of an .ir with sub-graphs each is one.
struct GraphEntry {
  std::optional<std::uint32_t> rank;  // none of a file that is read by itself
  std::int64_t id = 0;
  std::filesystem::path path;
  std::vector<std::int64_t> history;  // the steps in which it was executed, as far as the dump tells
  model::Graph graph;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<NodeSlot>>
      readers;  // by node, output: inputs
};

class Graphs {
 public:
  // The graphs of every rank; none is fine. What cannot be read is listed in problems(). Errors: io.
  static Result<Graphs> read(const dump::DumpSet& dump);
  // The graphs of an .ir or a .pb. Errors: not_found, io, corrupt, limit.
  static Result<Graphs> read_file(const std::filesystem::path& path);

  const std::vector<GraphEntry>& entries() const { return entries_; }
  const std::vector<dump::Problem>& problems() const { return problems_; }

  struct Place {
    const GraphEntry* entry = nullptr;
    std::size_t node = 0;
  };
  // The node of an execution, found by its name: that of the same graph, else the only one of its rank. Dumps
  // of releases up to 2.2 keep the last part of names only, and so may it be. Null if there is none.
  Place find(const dump::OperatorRun& run) const;

 private:
  void add(std::optional<std::uint32_t> rank, std::int64_t id, const std::filesystem::path& path,
           const std::vector<std::int64_t>& history, model::Graph graph);

  std::vector<GraphEntry> entries_;
  std::vector<dump::Problem> problems_;
  // Into entries_ and Graph::nodes, by rank and name as in file names.
  std::map<std::pair<std::uint32_t, std::string>, std::vector<std::pair<std::size_t, std::size_t>>> by_name_,
      by_last_part_;
};

// "Default/conv1-Conv2d/convolution-op0 output.0", "weight conv1.weight"; empty if the graph does not tell.
std::string describe_source(const GraphEntry& entry, const model::Source& source);
// {"operator":...,"slot":...} or {"parameter":...,"role":...}; null if the graph does not tell.
Json source_json(const GraphEntry& entry, const model::Source& source);

// "Default/relu-ReLU/relu-op0 input.0", once for each input that reads the output.
std::vector<std::string> describe_readers(const GraphEntry& entry, std::size_t node, std::uint32_t output);
Json readers_json(const GraphEntry& entry, std::size_t node, std::uint32_t output);

}  // namespace opdump::cli
