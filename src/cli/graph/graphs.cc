#include "cli/graph/graphs.h"

#include <string_view>
#include <utility>

#include "dump/file_name.h"
#include "dump/write/graph_files.h"
#include "format/graphs/graph_rows.h"

namespace opdump::cli {
namespace {

using model::Source;

constexpr std::string_view kRoles[] = {"input", "weight", "constant"};

std::string slot_text(std::string_view side, std::uint32_t index) {
  return std::string(side) + "." + std::to_string(index);
}

std::string_view role_of(const model::GraphParameter& parameter) {
  return kRoles[static_cast<std::size_t>(parameter.role)];
}

const std::vector<NodeSlot>& readers_of(const GraphEntry& entry, std::size_t node, std::uint32_t output) {
  static const std::vector<NodeSlot> none;
  const auto found = entry.readers.find({static_cast<std::uint32_t>(node), output});
  return found == entry.readers.end() ? none : found->second;
}

}  // namespace

Result<Graphs> Graphs::read(const dump::DumpSet& dump) {
  Graphs graphs;
  for (const auto& [rank, directory] : dump.rank_directories()) {
    OPDUMP_TRY(dump::RankGraphs found, dump::read_graphs(directory));
    for (dump::GraphFile& file : found.files)
      for (model::Graph& graph : file.graphs)
        graphs.add(rank, file.id, file.path, file.history, std::move(graph));
    for (dump::Problem& problem : found.problems) graphs.problems_.push_back(std::move(problem));
  }
  return graphs;
}

Result<Graphs> Graphs::read_file(const std::filesystem::path& path) {
  auto found = dump::read_graph_file(path);
  if (!found) return found.take_error().within(path.string());
  Graphs graphs;
  graphs.are_of_every_rank_ = true;
  for (model::Graph& graph : *found) {
    const std::int64_t id = graph.id;
    graphs.add(std::nullopt, id, path, {}, std::move(graph));
  }
  return graphs;
}

void Graphs::add(std::optional<std::uint32_t> rank, std::int64_t id, const std::filesystem::path& path,
                 const std::vector<std::int64_t>& history, model::Graph graph) {
  GraphEntry& entry = entries_.emplace_back(GraphEntry{rank, id, path, history, std::move(graph), {}});
  for (std::size_t i = 0; i < entry.graph.nodes.size(); ++i) {
    const model::Node& node = entry.graph.nodes[i];
    for (const model::Node::Input& operand : node.inputs)
      if (operand.source.kind == Source::Kind::node)
        entry.readers[{operand.source.index, operand.source.output}].push_back({i, operand.index});
    const std::pair place(entries_.size() - 1, i);
    by_name_[{rank.value_or(0), dump::file_op_name(node.op)}].push_back(place);
    model::Operator last_part = node.op;
    last_part.name.erase(0, last_part.name.rfind('/') + 1);
    by_last_part_[{rank.value_or(0), dump::file_op_name(last_part)}].push_back(place);
  }
}

Graphs::NodeMatch Graphs::find(const dump::OperatorRun& run) const {
  for (const auto* names : {&by_name_, &by_last_part_}) {
    const auto found = names->find({are_of_every_rank_ ? 0 : run.rank, run.name});
    if (found == names->end()) continue;
    for (const auto& [entry, node] : found->second)
      if (entries_[entry].id == run.graph_id) return {&entries_[entry], node};
    if (found->second.size() == 1) return {&entries_[found->second[0].first], found->second[0].second};
  }
  return {};
}

std::string describe_source(const GraphEntry& entry, const Source& source) {
  if (source.kind == Source::Kind::node)
    return entry.graph.nodes[source.index].op.name + " " + slot_text("output", source.output);
  if (source.kind == Source::Kind::unknown) return {};
  const model::GraphParameter& parameter = entry.graph.parameters[source.index];
  return std::string(role_of(parameter)) + " " + parameter.name;
}

Json source_json(const GraphEntry& entry, const Source& source) {
  if (source.kind == Source::Kind::node)
    return {{"operator", entry.graph.nodes[source.index].op.name},
            {"slot", slot_text("output", source.output)}};
  if (source.kind == Source::Kind::unknown) return nullptr;
  const model::GraphParameter& parameter = entry.graph.parameters[source.index];
  return {{"parameter", parameter.name}, {"role", role_of(parameter)}};
}

std::vector<std::string> describe_readers(const GraphEntry& entry, std::size_t node, std::uint32_t output) {
  std::vector<std::string> texts;
  for (const NodeSlot& reader : readers_of(entry, node, output))
    texts.push_back(entry.graph.nodes[reader.node].op.name + " " + slot_text("input", reader.index));
  return texts;
}

Json readers_json(const GraphEntry& entry, std::size_t node, std::uint32_t output) {
  Json readers = Json::array();
  for (const NodeSlot& reader : readers_of(entry, node, output))
    readers.push_back(
        {{"operator", entry.graph.nodes[reader.node].op.name}, {"slot", slot_text("input", reader.index)}});
  return readers;
}

}  // namespace opdump::cli
