#include "format/graphs/ge/ge_ops.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "format/graphs/graph_rows.h"
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

ProtoField list(ProtoMessage items, std::string_view type) {
  items.push_back(proto_word("val_type", "VT_LIST_" + std::string(type)));
  return proto_message("list", std::move(items));
}

ProtoField int_list(std::span<const std::int64_t> numbers) {
  ProtoMessage items;
  for (const std::int64_t number : numbers) items.push_back(proto_number("i", number));
  return list(std::move(items), "INT");
}

// Prints a float as protobuf does: six digits, or nine where six are another number.
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

class GeOpsBuilder {
 public:
  using ReadData = std::function<std::string(std::string_view name)>;
  GeOpsBuilder(const model::Graph& graph, const ReadData& read_data, std::vector<GeOps>& graphs)
      : graph_(graph), read_data_(read_data), graphs_(graphs) {}

  // Its bodies behind it.
  void build(const std::string& name) {
    const std::size_t place = graphs_.size();
    graphs_.push_back({name, {}, graph_.parameters.size()});
    const bool trains = is_training(graph_);
    for (const GraphParameter& parameter : graph_.parameters) add_parameter(parameter, trains);
    for (const model::Node& node : graph_.nodes) ops_.push_back(begin_node(node));
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) connect(i);
    add_net_output();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) add_bodies(i);
    graphs_[place].ops = std::move(ops_);
  }

 private:
  std::string unique(const std::string& name) {
    std::string result = name;
    for (int i = 2; !names_.insert(result).second; ++i) result = name + "_" + std::to_string(i);
    return result;
  }

  void add_parameter(const GraphParameter& parameter, bool trains) {
    GeOp op;
    op.name = unique(parameter.name);
    op.output_types = {parameter.type};
    if (parameter.role == GraphParameter::Role::input) {
      op.type = "Data";
      op.inputs = {""};
      op.input_types = {parameter.type};
      op.attributes.emplace("index", proto_number("i", data_count_++));
    } else {
      op.type = parameter.role == GraphParameter::Role::weight && trains ? "Variable" : "Const";
      const std::string data = read_data_ ? read_data_(parameter.name) : "";
      ProtoMessage tensor{proto_message("desc", describe_ge_tensor(parameter.type))};
      if (!data.empty()) tensor.push_back(proto_string("data", data));
      if (op.type == "Const" || !data.empty())
        op.attributes.emplace("value", proto_message("t", std::move(tensor)));
    }
    ops_.push_back(std::move(op));
  }

  static void name_inputs(const Argument& argument, const std::string& name,
                          std::map<std::size_t, std::string>& names) {
    if (const auto* tensor = std::get_if<Argument::Tensor>(&argument.value)) names[tensor->operand] = name;
    const auto* list = std::get_if<Argument::List>(&argument.value);
    for (std::size_t i = 0; list && i < list->size(); ++i)
      name_inputs((*list)[i], name + "_" + std::to_string(i), names);
  }

  GeOp begin_node(const model::Node& node) {
    GeOp op;
    op.name = unique(node.op.name);
    op.type = node.op.type;
    op.stream = node.op.stream;
    for (const Argument& argument : node.arguments) {
      name_inputs(argument, argument.name, op.input_names);
      if (auto value = std::visit(ToValue(), argument.value))
        op.attributes.insert_or_assign(argument.name, *value);
    }
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

  void read(GeOp& reader, std::size_t maker, std::uint32_t output) {
    GeOp& from = ops_[maker];
    reader.sources.push_back({from.name, output});
    from.targets.push_back({reader.name, static_cast<std::int64_t>(reader.inputs.size())});
    reader.inputs.push_back(from.name + ":" + std::to_string(output));
  }

  // Inputs stand at their operand index; what is absent between is "".
  void connect(std::size_t index) {
    GeOp& op = ops_[graph_.parameters.size() + index];
    for (const model::Node::Input& operand : graph_.nodes[index].inputs) {
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

  // The declared outputs of the graph; without a declaration, those that no operator reads.
  void add_net_output() {
    GeOp result;
    result.name = unique("Node_Output");
    result.type = "NetOutput";
    for (const Source& output : graph_.outputs.empty() ? find_unread() : graph_.outputs) {
      const auto maker = find(output, graph_.nodes.size());
      if (!maker) continue;
      const auto& types = ops_[*maker].output_types;
      read(result, *maker, output.output);
      result.input_types.push_back(output.output < types.size() ? types[output.output] : model::TensorType{});
    }
    ops_.push_back(std::move(result));
  }

  std::vector<Source> find_unread() const {
    std::set<std::string> read_ones;
    for (const GeOp& op : ops_) read_ones.insert(op.inputs.begin(), op.inputs.end());
    std::vector<Source> unread;
    for (std::uint32_t node = 0; node < graph_.nodes.size(); ++node) {
      const GeOp& op = ops_[graph_.parameters.size() + node];
      for (std::uint32_t output = 0; output < op.output_types.size(); ++output)
        if (op.output_types[output].dtype != model::DType::undefined &&
            !read_ones.contains(op.name + ":" + std::to_string(output)))
          unread.push_back({Source::Kind::node, node, output});
    }
    return unread;
  }

  void add_bodies(std::size_t index) {
    for (const model::Body& body : graph_.nodes[index].bodies) {
      GeOp& op = ops_[graph_.parameters.size() + index];
      std::string name = op.name + "_" + body.name;
      while (std::ranges::find(graphs_, name, &GeOps::name) != graphs_.end()) name += "_";
      op.subgraphs.push_back({body.name, name});
      GeOpsBuilder(body.graph, {}, graphs_).build(name);
    }
  }

  const model::Graph& graph_;
  const ReadData read_data_;
  std::vector<GeOps>& graphs_;
  std::vector<GeOp> ops_;  // parameters, nodes, the NetOutput
  std::set<std::string> names_;
  std::int64_t data_count_ = 0;
};

}  // namespace

ProtoField ge_attribute(std::string key, ProtoField value) {
  return proto_message("attr",
                       {proto_string("key", std::move(key)), proto_message("value", {std::move(value)})});
}

ProtoMessage describe_ge_tensor(const model::TensorType& type) {
  if (type.dtype == model::DType::undefined) return {proto_string("layout", "FORMAT_RESERVED")};
  ProtoMessage dims;
  for (const std::int64_t dim : type.shape.dims()) dims.push_back(proto_number("dim", dim));
  const std::string dtype(ge_dtype_name(type.dtype));
  return {
      proto_word("dtype", dtype),
      proto_message("shape", std::move(dims)),
      proto_string("layout", "ND"),
      ge_attribute("origin_data_type", proto_string("s", dtype)),
      ge_attribute("origin_format", proto_string("s", "ND")),
      ge_attribute("origin_shape", int_list(type.shape.dims())),
      proto_number("size", static_cast<std::int64_t>(
                               model::TensorView::row_major(type.dtype, type.shape, nullptr).byte_count())),
      proto_number("real_dim_cnt", static_cast<std::int64_t>(type.shape.dims().size()))};
}

std::vector<GeOps> make_ge_ops(const model::Graph& graph, const GeBuildOptions& options) {
  std::vector<GeOps> graphs;
  GeOpsBuilder(graph, options.read_data, graphs).build(options.name);
  return graphs;
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
