#include "format/ge_build.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "format/ge_onnx.h"
#include "format/graph_rows.h"
#include "format/proto_text.h"
#include "model/tensor_view.h"

namespace opdump::format {
namespace {

using model::Argument;
using model::GraphParameter;
using model::Source;

constexpr std::array<std::string_view, model::kDTypeCount> kDTypeNames{
    "DT_UNDEFINED",   "DT_BOOL",        "DT_INT8",        "DT_INT16",         "DT_INT32",
    "DT_INT64",       "DT_UINT8",       "DT_UINT16",      "DT_UINT32",        "DT_UINT64",
    "DT_FLOAT16",     "DT_BF16",        "DT_FLOAT",       "DT_DOUBLE",        "DT_COMPLEX64",
    "DT_COMPLEX128",  "DT_INT4",        "DT_UINT1",       "DT_FLOAT8_E4M3FN", "DT_FLOAT8_E5M2",
    "DT_COMPLEX32",   "DT_HIFLOAT8",    "DT_FLOAT8_E8M0", "DT_FLOAT6_E3M2",   "DT_FLOAT6_E2M3",
    "DT_FLOAT4_E2M1", "DT_FLOAT4_E1M2", "DT_INT2",        "DT_UINT2"};

ProtoField attribute(std::string key, ProtoField value) {
  return proto_message("attr",
                       {proto_string("key", std::move(key)), proto_message("value", {std::move(value)})});
}

ProtoField list(ProtoMessage items, std::string_view type) {
  items.push_back(proto_word("val_type", "VT_LIST_" + std::string(type)));
  return proto_message("list", std::move(items));
}

ProtoField int_list(std::span<const std::int64_t> numbers) {
  ProtoMessage items;
  for (const std::int64_t number : numbers) items.push_back(proto_number("i", number));
  return list(std::move(items), "INT");
}

// As protobuf prints a float: six digits, or nine where these are another number.
ProtoField real(double value) {
  const auto number = static_cast<float>(value);
  std::array<char, 32> text{};
  std::string_view word;
  for (const int digits : {6, 9}) {
    const auto [end, failed] =
        std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::general, digits);
    word = {text.data(), end};
    float again = 0;
    std::from_chars(word.data(), word.data() + word.size(), again);
    if (again == number || number != number) break;
  }
  return proto_word("f", std::string(word));
}

// The values that an attribute can hold. None and tensors are no values.
struct ToValue {
  std::optional<ProtoField> operator()(Argument::None) const { return std::nullopt; }
  std::optional<ProtoField> operator()(Argument::Tensor) const { return std::nullopt; }
  std::optional<ProtoField> operator()(bool value) const { return proto_bool("b", value); }
  std::optional<ProtoField> operator()(std::int64_t value) const { return proto_number("i", value); }
  std::optional<ProtoField> operator()(double value) const { return real(value); }
  std::optional<ProtoField> operator()(const std::string& value) const { return proto_string("s", value); }

  // Lists of one kind only; the engine has no others.
  std::optional<ProtoField> operator()(const Argument::List& values) const {
    ProtoMessage items;
    for (const Argument& value : values) {
      auto item = std::visit(*this, value.value);
      const bool fits =
          item && item->kind != ProtoField::Kind::message && (items.empty() || items[0].name == item->name);
      if (!fits) return std::nullopt;
      items.push_back(std::move(*item));
    }
    static const std::map<std::string_view, std::string_view> kTypes{
        {"b", "BOOL"}, {"i", "INT"}, {"f", "FLOAT"}, {"s", "STRING"}};
    const std::string_view type = items.empty() ? "INT" : kTypes.at(items[0].name);
    return list(std::move(items), type);
  }
};

ProtoMessage describe(const model::TensorType& type) {
  if (type.dtype == model::DType::undefined) return {proto_string("layout", "FORMAT_RESERVED")};
  ProtoMessage dims;
  for (const std::int64_t dim : type.shape.dims()) dims.push_back(proto_number("dim", dim));
  const std::string dtype(ge_dtype_name(type.dtype));
  return {
      proto_word("dtype", dtype),
      proto_message("shape", std::move(dims)),
      proto_string("layout", "ND"),
      attribute("origin_data_type", proto_string("s", dtype)),
      attribute("origin_format", proto_string("s", "ND")),
      attribute("origin_shape", int_list(type.shape.dims())),
      proto_number("size", static_cast<std::int64_t>(
                               model::TensorView::row_major(type.dtype, type.shape, nullptr).byte_count())),
      proto_number("real_dim_cnt", static_cast<std::int64_t>(type.shape.dims().size()))};
}

// An operator under construction. What a text has in another order than it becomes known is kept apart.
struct Op {
  std::string name, type;
  std::vector<std::string> inputs;  // "conv:0" or ""
  std::map<std::string, ProtoField> attributes;
  std::int64_t stream = 0;
  struct Edge {
    std::string name;
    std::int64_t index = 0;
  };
  std::vector<Edge> sources, targets;
  std::vector<model::TensorType> input_types, output_types;
};

class GeBuilder {
 public:
  GeBuilder(const model::Graph& graph, const GeBuildOptions& options) : graph_(graph), options_(options) {}

  Result<> encode(const GeTextSink& sink) {
    build();
    std::string proto = "graph {\n", onnx(kGeOnnxBegin);
    const auto add = [&](const ProtoField& field) { append_proto_text(proto, field, 2); };
    add(proto_string("name", options_.name));
    for (std::size_t i = 0; i < graph_.parameters.size(); ++i)
      if (ops_[i].type == "Data") add(proto_string("input", ops_[i].name + ":0"));
    for (const std::string& input : ops_.back().inputs) add(proto_string("output", input));
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const ProtoField op = print(ops_[i], i);
      add(op);
      append_proto_text(onnx, ge_onnx_node(op.fields, options_.only_relations), 2);
      OPDUMP_CHECK_OK(sink(proto, onnx));
      proto.clear();
      onnx.clear();
    }
    append_proto_text(onnx, proto_string("name", options_.name), 2);
    return sink("}\n", onnx + "}\n");
  }

 private:
  void build() {
    const bool trains = is_training(graph_);
    for (const GraphParameter& parameter : graph_.parameters) add_parameter(parameter, trains);
    for (const model::Node& node : graph_.nodes) ops_.push_back(begin_node(node));
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) connect(i);
    add_net_output();
  }

  const model::Graph& graph_;
  const GeBuildOptions& options_;
  std::vector<Op> ops_;  // parameters, nodes, the NetOutput
  std::set<std::string> names_;
  std::int64_t data_count_ = 0;

  std::string unique(const std::string& name) {
    std::string result = name;
    for (int i = 2; !names_.insert(result).second; ++i) result = name + "_" + std::to_string(i);
    return result;
  }

  void add_parameter(const GraphParameter& parameter, bool trains) {
    Op op;
    op.name = unique(parameter.name);
    op.output_types = {parameter.type};
    if (parameter.role == GraphParameter::Role::input) {
      op.type = "Data";
      op.inputs = {""};
      op.input_types = {parameter.type};
      op.attributes.emplace("index", proto_number("i", data_count_++));
    } else {
      op.type = parameter.role == GraphParameter::Role::weight && trains ? "Variable" : "Const";
      const std::string data = options_.read_data ? options_.read_data(parameter.name) : "";
      ProtoMessage tensor{proto_message("desc", describe(parameter.type))};
      if (!data.empty()) tensor.push_back(proto_string("data", data));
      if (op.type == "Const" || !data.empty())
        op.attributes.emplace("value", proto_message("t", std::move(tensor)));
    }
    ops_.push_back(std::move(op));
  }

  Op begin_node(const model::Node& node) {
    Op op;
    op.name = unique(node.op.name);
    op.type = node.op.type;
    op.stream = node.op.stream;
    for (const Argument& argument : node.arguments)
      if (auto value = std::visit(ToValue(), argument.value))
        op.attributes.insert_or_assign(argument.name, *value);
    const auto phase = static_cast<std::size_t>(node.op.phase);
    op.attributes.insert_or_assign(std::string(kGePhase),
                                   proto_string("s", std::string(model::kPhaseNames[phase])));
    if (const std::string source = model::format_source(node.op); !source.empty())
      op.attributes.insert_or_assign("_opdump_source", proto_string("s", source));
    if (node.op.original_names) {
      ProtoMessage names;
      for (const std::string& name : *node.op.original_names) names.push_back(proto_string("s", name));
      op.attributes.insert_or_assign("_datadump_original_op_names", list(std::move(names), "STRING"));
    }
    for (std::uint32_t i = 0; i < output_count(node); ++i) {
      const model::Node::Output* output = find_output(node, i);
      op.output_types.push_back(output ? output->type : model::TensorType{});
    }
    return op;
  }

  // The operator that `source` means, if it is there and comes before `reader`.
  std::optional<std::size_t> find(const Source& source, std::size_t reader) const {
    const std::size_t parameters = graph_.parameters.size();
    if (source.kind == Source::Kind::parameter && source.index < parameters) return source.index;
    if (source.kind != Source::Kind::node || source.index >= reader) return std::nullopt;
    return parameters + source.index;
  }

  void read(Op& reader, std::size_t maker, std::uint32_t output) {
    Op& from = ops_[maker];
    reader.sources.push_back({from.name, output});
    from.targets.push_back({reader.name, static_cast<std::int64_t>(reader.inputs.size())});
    reader.inputs.push_back(from.name + ":" + std::to_string(output));
  }

  // Inputs stand at their operand index; what is absent between is "".
  void connect(std::size_t index) {
    Op& op = ops_[graph_.parameters.size() + index];
    for (const model::Node::Operand& operand : graph_.nodes[index].inputs) {
      while (op.inputs.size() < std::min(operand.index, kMaxOperands)) {
        op.inputs.emplace_back();
        op.input_types.emplace_back();
      }
      op.input_types.push_back(operand.type);
      if (const auto maker = find(operand.source, index))
        read(op, *maker, operand.source.output);
      else
        op.inputs.emplace_back();
    }
  }

  static constexpr std::uint32_t kMaxOperands = 1 << 16;

  void add_net_output() {
    Op result;
    result.name = unique("Node_Output");
    result.type = "NetOutput";
    std::set<std::string> read_ones;
    for (const Op& op : ops_) read_ones.insert(op.inputs.begin(), op.inputs.end());
    for (std::size_t i = graph_.parameters.size(); i < ops_.size(); ++i)
      for (std::uint32_t output = 0; output < ops_[i].output_types.size(); ++output) {
        const model::TensorType& type = ops_[i].output_types[output];
        if (type.dtype == model::DType::undefined) continue;
        if (read_ones.contains(ops_[i].name + ":" + std::to_string(output))) continue;
        read(result, i, output);
        result.input_types.push_back(type);
      }
    ops_.push_back(std::move(result));
  }

  static void print_edges(ProtoMessage& fields, const std::vector<Op::Edge>& edges, std::string_view name) {
    for (const Op::Edge& edge : edges) fields.push_back(proto_string(std::string(name) + "_name", edge.name));
    for (const Op::Edge& edge : edges)
      fields.push_back(proto_number(std::string(name) + "_index", edge.index));
  }

  // In the order of the fields' numbers.
  ProtoField print(const Op& op, std::size_t id) const {
    const bool is_built = options_.stage == GeStage::build;
    ProtoMessage fields{proto_string("name", op.name), proto_string("type", op.type)};
    for (const std::string& input : op.inputs) fields.push_back(proto_string("input", input));
    for (const auto& [key, value] : op.attributes) fields.push_back(attribute(key, value));
    fields.push_back(proto_bool("has_out_attr", true));
    if (is_built && id > 0) fields.push_back(proto_number("id", static_cast<std::int64_t>(id)));
    if (is_built && op.stream > 0) fields.push_back(proto_number("stream_id", op.stream));
    print_edges(fields, op.sources, "src");
    print_edges(fields, op.targets, "dst");
    const bool is_known = is_built || id < graph_.parameters.size();
    const auto describe_known = [&](const model::TensorType& type) {
      return is_known ? describe(type) : ProtoMessage{proto_string("layout", "ND")};
    };
    for (const model::TensorType& type : op.input_types)
      fields.push_back(proto_message("input_desc", describe_known(type)));
    for (const model::TensorType& type : op.output_types)
      fields.push_back(proto_message("output_desc", describe_known(type)));
    return proto_message("op", std::move(fields));
  }
};

}  // namespace

Result<> encode_ge_graph(const model::Graph& graph, const GeBuildOptions& options, const GeTextSink& sink) {
  return GeBuilder(graph, options).encode(sink);
}

bool is_training(const model::Graph& graph) {
  return std::ranges::any_of(graph.nodes,
                             [](const model::Node& node) { return node.op.phase != model::Phase::forward; });
}

std::string_view ge_dtype_name(model::DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return index < kDTypeNames.size() ? kDTypeNames[index] : kDTypeNames[0];
}

}  // namespace opdump::format
