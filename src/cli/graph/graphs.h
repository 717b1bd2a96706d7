// The graphs of a dump, and the node of each execution in the dump.
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

// One graph. In an .ir with sub-graphs each of them is one.
struct GraphEntry {
  std::optional<std::uint32_t> rank;  // none for a single file
  std::int64_t id = 0;
  std::filesystem::path path;
  std::vector<std::int64_t> history;  // the steps that executed it, as far as known
  model::Graph graph;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<NodeSlot>>
      readers;  // by node, output: inputs
};

class Graphs {
 public:
  // The graphs of every rank; there may be none. problems() lists unreadable files. Errors: io.
  static Result<Graphs> read(const dump::DumpSet& dump);
  // The graphs of an .ir or a .pb, for every rank. Errors: not_found, io, corrupt, limit.
  static Result<Graphs> read_file(const std::filesystem::path& path);

  const std::vector<GraphEntry>& entries() const { return entries_; }
  const std::vector<dump::Problem>& problems() const { return problems_; }

  struct NodeMatch {
    const GraphEntry* entry = nullptr;
    std::size_t node = 0;
  };
  // The node of an execution, found by name: in the same graph, else the only one of its rank. Dumps of
  // releases up to 2.2 keep only the last part of names, which then must match. Null if there is none.
  NodeMatch find(const dump::OperatorRun& run) const;

 private:
  void add(std::optional<std::uint32_t> rank, std::int64_t id, const std::filesystem::path& path,
           const std::vector<std::int64_t>& history, model::Graph graph);

  std::vector<GraphEntry> entries_;
  bool are_of_every_rank_ = false;
  std::vector<dump::Problem> problems_;
  // Into entries_ and Graph::nodes, by rank and name as in file names.
  std::map<std::pair<std::uint32_t, std::string>, std::vector<std::pair<std::size_t, std::size_t>>> by_name_,
      by_last_part_;
};

// "Default/conv1-Conv2d/convolution-op0 output.0", "weight conv1.weight"; empty if it is not in the graph.
std::string describe_source(const GraphEntry& entry, const model::Source& source);
// {"operator":...,"slot":...} or {"parameter":...,"role":...}; null if it is not in the graph.
Json source_json(const GraphEntry& entry, const model::Source& source);

// "Default/relu-ReLU/relu-op0 input.0", once for each input that reads the output.
std::vector<std::string> describe_readers(const GraphEntry& entry, std::size_t node, std::uint32_t output);
Json readers_json(const GraphEntry& entry, std::size_t node, std::uint32_t output);

}  // namespace opdump::cli
