#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <set>

#include "format/graphs/graph_pb.h"
#include "format/graphs/graph_proto.h"
#include "format/graphs/graph_rows.h"

namespace opdump::format {
namespace {

using model::Argument;
using model::GraphParameter;
using model::Source;

void fill(proto::TypeProto& message, const model::TensorType& type) {
  message.data_type = proto::kTensor;
  proto::TensorTypeProto& tensor = message.tensor_type.emplace();
  tensor.elem_type = proto::number_of(type.dtype);
  proto::TensorShapeProto& shape = tensor.shape.emplace();
  for (const std::int64_t dim : type.shape.dims()) shape.dim.emplace_back().size = dim;
}

void fill_outputs(proto::TypeProto& message, const model::Node& node) {
  const std::size_t count = output_count(node);
  if (count == 0) {
    message.data_type = proto::kNone;
    return;
  }
  if (count == 1) return fill(message, find_output(node, 0)->type);
  message.data_type = proto::kTuple;
  for (std::uint32_t index = 0; index < count; ++index) {
    proto::TypeProto& item = message.sequence_type.emplace().elem_types.emplace_back();
    if (const model::Node::Output* output = find_output(node, index))
      fill(item, output->type);
    else
      item.data_type = proto::kNone;
  }
}

void fill(proto::ValueProto& message, const Argument& argument) {
  struct Visitor {
    proto::ValueProto& message;
    void operator()(Argument::None) const { message.dtype = proto::kNone; }
    void operator()(Argument::Tensor) const { message.dtype = proto::kTensor; }
    void operator()(bool value) const { message.dtype = proto::kBool, message.bool_val = value; }
    void operator()(std::int64_t value) const { message.dtype = proto::kInt64, message.int_val = value; }
    void operator()(double value) const { message.dtype = proto::kFloat64, message.double_val = value; }
    void operator()(const std::string& value) const {
      message.dtype = proto::kString, message.str_val = value;
    }
    void operator()(const Argument::List& list) const {
      message.dtype = proto::kTuple;
      for (const Argument& item : list) fill(message.values.emplace_back(), item);
    }
  };
  std::visit(Visitor{message}, argument.value);
}

// Nodes are called by their number and constants cst{k}: no parameter may be.
bool looks_taken(const std::string& name) {
  const std::string_view digits = std::string_view(name).substr(name.starts_with("cst") ? 3 : 0);
  return digits.find_first_not_of("0123456789") == std::string_view::npos;
}

class PbWriter {
 public:
  PbWriter(const model::Graph& graph, const LineReader& read_line)
      : graph_(graph), read_line_(read_line), rows_(graph) {}

  std::string write() {
    write_parameters();
    for (std::size_t i = 0; i < rows_.rows().size(); ++i) write_row(i);
    rest_.name = graph_name(graph_);
    rest_.root_name = std::to_string(graph_.id);
    if (!graph_.nodes.empty()) {
      const std::size_t last = graph_.nodes.size() - 1;
      proto::OutputProto& output = rest_.outputs.emplace_back();
      output.name = std::to_string(rows_.row_of(last) + 1);
      fill_outputs(output.type.emplace(), graph_.nodes[last]);
    }
    std::string bytes;
    protozero::pbf_writer model(bytes);
    model.add_int64(1, 1);  // ir_version
    model.add_message(4, nodes_ + proto::encode(rest_));
    return bytes;
  }

 private:
  const model::Graph& graph_;
  const LineReader& read_line_;
  GraphRows rows_;
  std::string nodes_;  // encoded one by one: as messages, those of a large step would take gigabytes
  proto::GraphProto rest_;
  std::vector<std::string> parameters_;  // what nodes call them; empty for a constant that nobody read yet

  void write_parameters() {
    std::set<std::string> names;
    for (const GraphParameter& parameter : graph_.parameters) {
      parameters_.emplace_back();
      if (parameter.role == GraphParameter::Role::constant) continue;
      std::string name = parameter.name;
      while (looks_taken(name) || names.contains(name)) name += "_" + std::to_string(parameters_.size());
      names.insert(name);
      parameters_.back() = name;
      proto::ParameterProto& written = rest_.parameters.emplace_back();
      written.name = name;
      fill(written.type.emplace(), parameter.type);
    }
  }

  // Adds a tensor constant, without its value, and returns its key.
  std::string add_constant(const model::TensorType& type) {
    proto::NamedValueProto& constant = rest_.const_vals.emplace_back();
    constant.key = "cst" + std::to_string(rest_.const_vals.size());
    proto::ValueProto& value = constant.value.emplace();
    value.dtype = proto::kTensor;
    proto::TensorProto& tensor = value.tensor_val.emplace();
    tensor.dims.assign(type.shape.dims().begin(), type.shape.dims().end());
    tensor.data_type = proto::number_of(type.dtype);
    return *constant.key;
  }

  std::string name_input(const model::Node::Input& operand, std::size_t node) {
    const Source& source = operand.source;
    if (const auto row = rows_.find(source, node)) return std::to_string(*row + 1);
    if (source.kind != Source::Kind::parameter || source.index >= parameters_.size())
      return add_constant(operand.type);
    std::string& name = parameters_[source.index];
    if (!name.empty()) return name;
    name = add_constant(operand.type);
    rest_.const_vals.back().full_name = "Default_" + graph_.parameters[source.index].name;
    return name;
  }

  static void add_input(proto::NodeProto& node, std::string name) {
    proto::InputProto& input = node.input.emplace_back();
    input.name = std::move(name);
    input.type = 0;  // DATA_EDGE
  }

  void write_row(std::size_t index) {
    const GraphRows::Row& row = rows_.rows()[index];
    proto::GraphProto message;
    proto::NodeProto& node = message.node.emplace_back();
    node.name = std::to_string(index + 1);
    node.full_name = rows_.full_name(row);
    const std::size_t slash = node.full_name->rfind('/');
    node.scope = node.full_name->substr(0, slash == std::string::npos ? 0 : slash);
    std::string& address = node.source_address.emplace();
    for (const std::string& line : format_source_lines(graph_.nodes[row.node], read_line_))
      address += (address.empty() ? "      # " : "\n      # ") + line;
    if (row.item)
      fill_item(node, row);
    else
      fill_node(node, row.node);
    nodes_ += proto::encode(message);
  }

  void fill_item(proto::NodeProto& node, const GraphRows::Row& row) {
    node.op_type = kTupleGetItem;
    add_input(node, std::to_string(rows_.row_of(row.node) + 1));
    proto::NamedValueProto& number = rest_.const_vals.emplace_back();
    number.key = "cst" + std::to_string(rest_.const_vals.size());
    proto::ValueProto& value = number.value.emplace();
    value.dtype = proto::kInt64;
    value.int_val = *row.item;
    add_input(node, *number.key);
    fill(node.output_type.emplace(), find_output(graph_.nodes[row.node], *row.item)->type);
  }

  void fill_node(proto::NodeProto& node, std::size_t index) {
    const model::Node& made = graph_.nodes[index];
    node.op_type = made.op.type;
    bool has_gaps = false;
    Argument indices{std::string(kOperandIndex), Argument::List{}};
    for (const model::Node::Input& operand : made.inputs) {
      has_gaps |= operand.index != node.input.size();
      std::get<Argument::List>(indices.value).push_back({"", std::int64_t{operand.index}});
      add_input(node, name_input(operand, index));
    }
    for (const Argument& argument : made.arguments)
      if (!holds_tensor(argument)) add_attribute(node, argument);
    if (has_gaps) add_attribute(node, indices);
    fill_outputs(node.output_type.emplace(), made);
  }

  static void add_attribute(proto::NodeProto& node, const Argument& argument) {
    proto::AttributeProto& attribute = node.attribute.emplace_back();
    attribute.name = argument.name;
    fill(attribute.value.emplace(), argument);
  }
};

}  // namespace

std::string encode_graph_pb(const model::Graph& graph, const LineReader& read_line) {
  return PbWriter(graph, read_line).write();
}

}  // namespace opdump::format
