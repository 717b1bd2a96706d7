#include "result/graph_tables.h"

#include "base/text/text.h"
#include "dump/write/graph_files.h"

namespace opdump::result {
namespace {

using model::Argument;
using model::Source;

constexpr std::string_view kRoles[] = {"input", "weight", "constant"};

struct ArgumentText {
  std::string operator()(const Argument::None&) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return format_g(value); }
  std::string operator()(const std::string& value) const { return quote(value); }
  std::string operator()(const Argument::Tensor& value) const {
    return "input." + std::to_string(value.operand);
  }
  std::string operator()(const Argument::List& value) const {
    std::string text;
    for (const Argument& item : value) text += (text.empty() ? "" : ", ") + format_argument(item);
    return "[" + text + "]";
  }
};

}  // namespace

std::string format_argument(const Argument& argument) { return std::visit(ArgumentText(), argument.value); }

Result<> GraphTables::add_sources(const model::Node& node, const Insert& insert) {
  for (const model::SourceSpan& span : node.source) {
    if (span.code.empty() || !lines_.emplace(span.file, span.first_line).second) continue;
    OPDUMP_CHECK_OK(insert("sources", {std::string_view(span.file), std::int64_t{span.first_line},
                                       std::string_view(span.code)}));
  }
  return ok();
}

Result<> GraphTables::add_graph(const model::Graph& graph, std::string_view side, std::int64_t rank,
                                const Insert& insert) {
  for (const model::Node& node : graph.nodes) {
    const std::string_view consumer = node.op.name;
    for (const model::Node::Input& operand : node.inputs) {
      std::string_view producer, kind;
      std::int64_t output = 0;
      if (operand.source.kind == Source::Kind::node && operand.source.index < graph.nodes.size()) {
        producer = graph.nodes[operand.source.index].op.name;
        kind = "operator";
        output = operand.source.output;
      } else if (operand.source.kind == Source::Kind::parameter &&
                 operand.source.index < graph.parameters.size()) {
        const model::GraphParameter& parameter = graph.parameters[operand.source.index];
        producer = parameter.name;
        kind = kRoles[static_cast<std::size_t>(parameter.role)];
      } else {
        continue;
      }
      const std::string shape = model::format_shape(operand.type.shape);
      OPDUMP_CHECK_OK(insert(
          "edges", {side, rank, graph.id, producer, kind, output, consumer, std::int64_t{operand.index},
                    model::dtype_info(operand.type.dtype).name, std::string_view(shape)}));
    }
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      const std::string value = format_argument(node.arguments[i]);
      OPDUMP_CHECK_OK(
          insert("arguments", {side, rank, graph.id, consumer, static_cast<std::int64_t>(i),
                               std::string_view(node.arguments[i].name), std::string_view(value)}));
    }
    OPDUMP_CHECK_OK(add_sources(node, insert));
  }
  return ok();
}

Result<> GraphTables::add(const dump::DumpSet& dump, std::string_view side, const Insert& insert) {
  for (const auto& [rank, directory] : dump.rank_directories()) {
    OPDUMP_TRY(const dump::RankGraphs found, dump::read_graphs(directory));
    for (const dump::GraphFile& file : found.files)
      for (const model::Graph& graph : file.graphs) OPDUMP_CHECK_OK(add_graph(graph, side, rank, insert));
    for (const dump::Problem& problem : found.problems) {
      const std::string text = std::string(side) + ": " + problem.path.string() + ": " + problem.what;
      OPDUMP_CHECK_OK(insert("remarks", {"graph", std::string_view(text)}));
    }
  }
  return ok();
}

}  // namespace opdump::result
