#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "base/file/content.h"
#include "base/text/text.h"
#include "format/graphs/graph_pb.h"
#include "format/graphs/graph_proto.h"

namespace opdump::format {
namespace {

using model::Argument;
using model::GraphParameter;
using model::Source;
using model::TensorType;

TensorType to_type(const proto::TensorTypeProto& message) {
  TensorType type;
  type.dtype = proto::dtype_of(message.elem_type.value_or(proto::kUndefined));
  std::vector<std::int64_t> dims;
  if (message.shape)
    for (const proto::DimensionProto& dim : message.shape->dim) dims.push_back(dim.size.value_or(0));
  type.shape = model::Shape(dims);
  return type;
}

TensorType to_type(const proto::Child<proto::TypeProto>& message) {
  return message && message->tensor_type ? to_type(*message->tensor_type) : TensorType{};
}

std::vector<model::Node::Output> to_outputs(const proto::Child<proto::TypeProto>& message) {
  std::vector<model::Node::Output> outputs;
  if (!message) return outputs;
  if (message->tensor_type) outputs.push_back({0, to_type(*message->tensor_type)});
  if (!message->sequence_type) return outputs;
  std::uint32_t index = 0;
  for (const proto::TypeProto& item : message->sequence_type->elem_types) {
    if (item.tensor_type) outputs.push_back({index, to_type(*item.tensor_type)});
    ++index;
  }
  return outputs;
}

Argument to_argument(std::string name, const proto::ValueProto& value) {
  Argument argument{std::move(name), Argument::None{}};
  if (value.bool_val)
    argument.value = *value.bool_val;
  else if (value.int_val)
    argument.value = *value.int_val;
  else if (value.uint_val)
    argument.value = static_cast<std::int64_t>(*value.uint_val);
  else if (value.float_val || value.double_val)
    argument.value = value.double_val ? *value.double_val : double{*value.float_val};
  else if (value.str_val)
    argument.value = *value.str_val;
  else if (!value.values.empty() || value.dtype == proto::kTuple || value.dtype == proto::kList) {
    Argument::List list;
    for (const proto::ValueProto& item : value.values) list.push_back(to_argument("", item));
    argument.value = std::move(list);
  }
  return argument;
}

class PbReader {
 public:
  explicit PbReader(const proto::GraphProto& message) : message_(message) {}

  model::Graph read() {
    graph_.name = message_.name.value_or("");
    graph_.id = parse_int64(message_.root_name.value_or("")).value_or(parse_graph_id(graph_.name));
    for (const proto::ParameterProto& parameter : message_.parameters) {
      sources_[parameter.name.value_or("")] = {Source::Kind::parameter, next_parameter(), 0};
      graph_.parameters.push_back(
          {parameter.name.value_or(""), to_type(parameter.type), GraphParameter::Role::input});
    }
    for (const proto::NamedValueProto& constant : message_.const_vals) read_constant(constant);
    for (const proto::NodeProto& node : message_.node)
      if (!read_item(node)) read_node(node);
    return std::move(graph_);
  }

 private:
  const proto::GraphProto& message_;
  model::Graph graph_;
  std::map<std::string, Source, std::less<>> sources_;  // of what nodes read, by its name there
  std::map<std::string, const proto::ValueProto*, std::less<>> constants_;

  std::uint32_t next_parameter() const { return static_cast<std::uint32_t>(graph_.parameters.size()); }

  static TensorType constant_type(const proto::ValueProto& value) {
    if (!value.tensor_val) return {};
    return {proto::dtype_of(value.tensor_val->data_type.value_or(proto::kUndefined)),
            model::Shape(value.tensor_val->dims)};
  }

  void read_constant(const proto::NamedValueProto& constant) {
    if (!constant.value) return;
    const std::string key = constant.key.value_or("");
    constants_[key] = &*constant.value;
    if (constant.value->dtype != proto::kTensor || !constant.full_name) return;
    constexpr std::string_view kScope = "Default_";
    std::string_view name = *constant.full_name;
    if (name.starts_with(kScope)) name.remove_prefix(kScope.size());
    sources_[key] = {Source::Kind::parameter, next_parameter(), 0};
    graph_.parameters.push_back(
        {std::string(name), constant_type(*constant.value), GraphParameter::Role::constant});
  }

  // Whether `node` takes an output of another one; who reads it then reads that.
  bool read_item(const proto::NodeProto& node) {
    const std::string type = to_lower(node.op_type.value_or(""));
    if ((type != "tuplegetitem" && type != "tuple_getitem") || node.input.size() != 2) return false;
    const auto source = sources_.find(node.input[0].name.value_or(""));
    const auto number = constants_.find(node.input[1].name.value_or(""));
    if (source == sources_.end() || number == constants_.end()) return false;
    const Argument item = to_argument("", *number->second);
    const auto* index = std::get_if<std::int64_t>(&item.value);
    if (index == nullptr || !std::in_range<std::uint32_t>(*index)) return false;
    Source taken = source->second;
    taken.output = static_cast<std::uint32_t>(*index);
    sources_[node.name.value_or("")] = taken;
    if (taken.kind == Source::Kind::node && node.output_type && node.output_type->tensor_type)
      set_output(graph_.nodes[taken.index], {taken.output, to_type(node.output_type)});
    return true;
  }

  // Types of outputs within a tuple may have no shape: who takes one out knows it.
  static void set_output(model::Node& node, const model::Node::Output& output) {
    const auto place = std::ranges::find(node.outputs, output.index, &model::Node::Output::index);
    if (place != node.outputs.end()) *place = output;
  }

  TensorType type_of(const Source& source) const {
    if (source.kind == Source::Kind::parameter) return graph_.parameters[source.index].type;
    const model::Node::Output* output = find_output(graph_.nodes[source.index], source.output);
    return output == nullptr ? TensorType{} : output->type;
  }

  void read_input(const std::string& name, std::uint32_t index, model::Node& node) const {
    if (const auto source = sources_.find(name); source != sources_.end()) {
      node.inputs.push_back({index, type_of(source->second), source->second});
      return;
    }
    const auto constant = constants_.find(name);
    if (constant != constants_.end() && constant->second->dtype != proto::kTensor)
      node.arguments.push_back(to_argument("", *constant->second));
    else
      node.inputs.push_back(
          {index, constant == constants_.end() ? TensorType{} : constant_type(*constant->second), {}});
  }

  // The attribute with the indices of a node's inputs; true if it did.
  static bool apply_operand_index(const Argument& argument, model::Node& node) {
    const auto* list = std::get_if<Argument::List>(&argument.value);
    if (argument.name != kOperandIndex || list == nullptr || list->size() != node.inputs.size()) return false;
    for (std::size_t i = 0; i < list->size(); ++i)
      if (const auto* index = std::get_if<std::int64_t>(&(*list)[i].value))
        node.inputs[i].index = static_cast<std::uint32_t>(*index);
    return true;
  }

  void read_node(const proto::NodeProto& message) {
    model::Node node;
    node.op.type = message.op_type.value_or("");
    node.op.name = message.full_name.value_or("");
    node.op.graph_id = graph_.id;
    std::uint32_t index = 0;
    for (const proto::InputProto& input : message.input) read_input(input.name.value_or(""), index++, node);
    for (const proto::AttributeProto& attribute : message.attribute) {
      if (!attribute.value) continue;
      Argument argument = to_argument(attribute.name.value_or(""), *attribute.value);
      if (!apply_operand_index(argument, node)) node.arguments.push_back(std::move(argument));
    }
    node.outputs = to_outputs(message.output_type);
    const std::string address = message.source_address.value_or("");
    for (const std::string_view line : split(address, '\n'))
      if (auto span = parse_source_line(line)) node.source.push_back(std::move(*span));
    choose_source(node);
    sources_[message.name.value_or("")] = {Source::Kind::node,
                                           static_cast<std::uint32_t>(graph_.nodes.size()), 0};
    graph_.nodes.push_back(std::move(node));
  }
};

}  // namespace

Result<model::Graph> decode_graph_pb(std::string_view bytes) {
  if (bytes.size() > kMaxGraphPbBytes)
    return Error(Code::limit, "larger than " + std::to_string(kMaxGraphPbBytes) + " bytes");
  auto model = proto::decode_model(bytes);
  if (model && model->graph) return PbReader(*model->graph).read();
  auto graph = proto::decode_graph(bytes);
  const auto nothing = [&] {
    return Error(Code::corrupt, with_content("there is no graph in it", std::as_bytes(std::span(bytes))));
  };
  if (!graph && !describe_content(std::as_bytes(std::span(bytes))).empty()) return nothing();
  if (!graph) return model ? graph.take_error() : model.take_error();
  if (graph->node.empty() && graph->parameters.empty()) return nothing();
  return PbReader(*graph).read();
}

}  // namespace opdump::format
