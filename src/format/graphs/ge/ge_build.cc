#include "format/graphs/ge/ge_build.h"

#include <utility>
#include <vector>

#include "format/graphs/ge/ge_onnx.h"
#include "format/graphs/ge/ge_ops.h"
#include "format/graphs/ge/ge_readable.h"

namespace opdump::format {
namespace {

void add_edges(ProtoMessage& fields, const std::vector<GeOp::Edge>& edges, std::string_view name) {
  for (const GeOp::Edge& edge : edges) fields.push_back(proto_string(std::string(name) + "_name", edge.name));
  for (const GeOp::Edge& edge : edges)
    fields.push_back(proto_number(std::string(name) + "_index", edge.index));
}

// Makes the texts of graphs, one operator after the other.
class GeTextWriter {
 public:
  GeTextWriter(const GeBuildOptions& options, const GeTextSink& sink) : options_(options), sink_(sink) {}

  Result<> write(const std::vector<GeOps>& graphs) {
    texts_.onnx = kGeOnnxBegin;
    for (const GeOps& graph : graphs) {
      const bool is_body = &graph != &graphs.front();
      if (is_body) texts_.readable += "\n";
      if (is_body) texts_.onnx += ge_onnx_begin_body(graph.name);
      OPDUMP_CHECK_OK(write_graph(graph, is_body ? kGeOnnxBodyIndent : 2));
      if (is_body) texts_.onnx += ge_onnx_end_body(graph.name);
    }
    append_proto_text(texts_.onnx, proto_string("name", options_.name), 2);
    texts_.onnx += "}\n";
    return sink_(texts_);
  }

 private:
  Result<> write_graph(const GeOps& graph, std::size_t onnx_indent) {
    GeReadable readable(graph);
    texts_.proto += "graph {\n";
    texts_.readable += readable.begin();
    const auto add = [&](const ProtoField& field) { append_proto_text(texts_.proto, field, 2); };
    add(proto_string("name", graph.name));
    for (std::size_t i = 0; i < graph.parameter_count; ++i)
      if (graph.ops[i].type == "Data") add(proto_string("input", graph.ops[i].name + ":0"));
    for (const std::string& input : graph.ops.back().inputs) add(proto_string("output", input));
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      const ProtoField op = print(graph.ops[i], i, i < graph.parameter_count);
      add(op);
      append_proto_text(texts_.onnx, ge_onnx_node(op.fields, options_.only_relations), onnx_indent);
      texts_.readable += readable.print(graph.ops[i]);
      OPDUMP_CHECK_OK(sink_(texts_));
      texts_ = {};
    }
    texts_.proto += "}\n";
    texts_.readable += readable.end();
    return ok();
  }

  // An OpDef, in the order of the fields' numbers.
  ProtoField print(const GeOp& op, std::size_t id, bool enters) const {
    const bool is_built = options_.stage == GeStage::build;
    ProtoMessage fields{proto_string("name", op.name), proto_string("type", op.type)};
    for (const std::string& input : op.inputs) fields.push_back(proto_string("input", input));
    for (const auto& [key, value] : op.attributes) fields.push_back(ge_attribute(key, value));
    fields.push_back(proto_bool("has_out_attr", true));
    if (is_built && id > 0) fields.push_back(proto_number("id", static_cast<std::int64_t>(id)));
    if (is_built && op.stream > 0) fields.push_back(proto_number("stream_id", op.stream));
    add_edges(fields, op.sources, "src");
    add_edges(fields, op.targets, "dst");
    const auto describe = [&](const model::TensorType& type) {
      return is_built || enters ? describe_ge_tensor(type) : ProtoMessage{proto_string("layout", "ND")};
    };
    for (const model::TensorType& type : op.input_types)
      fields.push_back(proto_message("input_desc", describe(type)));
    for (const model::TensorType& type : op.output_types)
      fields.push_back(proto_message("output_desc", describe(type)));
    for (const GeOp::Subgraph& subgraph : op.subgraphs)
      fields.push_back(proto_string("subgraph_name", subgraph.graph));
    return proto_message("op", std::move(fields));
  }

  const GeBuildOptions& options_;
  const GeTextSink& sink_;
  GeTexts texts_;
};

}  // namespace

Result<> encode_ge_graph(const model::Graph& graph, const GeBuildOptions& options, const GeTextSink& sink) {
  return GeTextWriter(options, sink).write(make_ge_ops(graph, options));
}

}  // namespace opdump::format
