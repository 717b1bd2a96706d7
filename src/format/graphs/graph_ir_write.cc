#include <charconv>
#include <set>
#include <span>

#include "base/text/text.h"
#include "format/graphs/graph_ir.h"

namespace opdump::format {
namespace {

using model::Argument;
using model::DType;
using model::GraphParameter;
using model::Node;
using model::Source;
using model::TensorType;

constexpr std::size_t kMaxPlainRank = 10;  // of shapes with their dimensions unnumbered

std::string join(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string class_name(DType dtype) { return std::string(model::dtype_info(dtype).class_name); }

// "2, 3"
std::string format_dims(const model::Shape& shape) {
  std::string text;
  for (const std::int64_t dim : shape.dims()) text += (text.empty() ? "" : ", ") + std::to_string(dim);
  return text;
}

// "<Float32xDefaultFormat[const vector]{2, 3}>"
std::string device_type(std::string_view dtype, const model::Shape& shape) {
  std::string dims = format_dims(shape);
  if (shape.rank() > kMaxPlainRank) {
    dims.clear();
    for (std::size_t i = 0; i < shape.rank(); ++i)
      dims += (i == 0 ? "[" : ", [") + std::to_string(i) + "]:{" + std::to_string(shape[i]) + "}";
  }
  return "<" + std::string(dtype) + "xDefaultFormat[const vector]{" + dims + "}>";
}

std::string device_type(const TensorType& type) {
  return device_type(type.dtype == DType::int4 ? "QInt4x2" : model::dtype_info(type.dtype).class_name,
                     type.shape);
}

// What the three lines about types say of one operand or output.
struct Described {
  std::string type;   // "Tensor[Float32]"
  std::string shape;  // "(2, 3)"
  std::string device;
  std::string_view kind;  // "Tensor"
  std::string extra;      // ", value=..."

  std::string host() const { return "<" + type + ", " + shape + extra + ">"; }
};

Described describe(const TensorType& type) {
  return {"Tensor[" + class_name(type.dtype) + "]", "(" + format_dims(type.shape) + ")", device_type(type),
          "Tensor", ""};
}

Described describe_scalar(const char* name, std::string_view kind = "Scalar") {
  return {name, "NoShape", device_type(name, {}), kind, ""};
}

// "Int64*2, Bool": equal neighbours are counted.
std::string join_types(std::span<const Described> items) {
  std::string text;
  for (std::size_t i = 0, next = 0; i < items.size(); i = next) {
    while (next < items.size() && items[next].type == items[i].type) ++next;
    text += (i == 0 ? "" : ", ") + items[i].type;
    if (next - i > 1) text += "*" + std::to_string(next - i);
  }
  return text;
}

Described describe_tuple(std::span<const Described> items) {
  std::vector<std::string> shapes, devices;
  for (const Described& item : items) {
    shapes.push_back(item.shape);
    devices.push_back(item.device);
  }
  return {"Tuple[" + join_types(items) + "]", "TupleShape(" + join(shapes) + ")", join(devices), "Tuple", ""};
}

// A list of literals: on the device one tensor of them.
Described describe_list(std::span<const Described> items) {
  Described described = describe_tuple(items);
  const std::string element = items.empty() ? "Int64" : items[0].type;
  described.device = device_type(element, {static_cast<std::int64_t>(items.size())});
  return described;
}

Described describe(const Argument& argument) {
  struct Visitor {
    Described operator()(Argument::None) const { return describe_scalar("TypeNone", "Unknown"); }
    Described operator()(Argument::Tensor) const { return describe_scalar("TypeNone", "Unknown"); }
    Described operator()(bool) const { return describe_scalar("Bool"); }
    Described operator()(std::int64_t) const { return describe_scalar("Int64"); }
    Described operator()(double) const { return describe_scalar("Float64"); }
    Described operator()(const std::string&) const { return describe_scalar("String", "Unknown"); }
    Described operator()(const Argument::List& list) const {
      std::vector<Described> items;
      for (const Argument& item : list) items.push_back(describe(item));
      return describe_list(items);
    }
  };
  return std::visit(Visitor{}, argument.value);
}

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : one_line(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string format_double(double value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  return {digits, end};
}

std::string format_literal(const Argument& argument) {
  struct Visitor {
    std::string operator()(Argument::None) const { return "None"; }
    std::string operator()(Argument::Tensor) const { return "None"; }
    std::string operator()(bool value) const { return value ? "Bool(1)" : "Bool(0)"; }
    std::string operator()(std::int64_t value) const { return "I64(" + std::to_string(value) + ")"; }
    std::string operator()(double value) const { return "F64(" + format_double(value) + ")"; }
    std::string operator()(const std::string& value) const { return quote(value); }
    std::string operator()(const Argument::List& list) const {
      std::vector<std::string> items;
      for (const Argument& item : list) items.push_back(format_literal(item));
      return "(" + join(items) + ")";
    }
  };
  return std::visit(Visitor{}, argument.value);
}

// One thing between the parentheses of a node: a tensor it reads, or a literal.
struct IrOperand {
  std::string_view name;
  const Node::Input* tensor = nullptr;
  const Argument* literal = nullptr;
};

void add_operands(const Node& node, const Argument& argument, std::string_view name,
                  std::vector<IrOperand>& operands) {
  if (const auto* tensor = std::get_if<Argument::Tensor>(&argument.value)) {
    const Node::Input* input = find_input(node, tensor->operand);
    operands.push_back({name, input, input == nullptr ? &argument : nullptr});
  } else if (const auto* list = std::get_if<Argument::List>(&argument.value);
             list && holds_tensor(argument)) {
    for (const Argument& item : *list) add_operands(node, item, name, operands);
  } else {
    operands.push_back({name, nullptr, &argument});
  }
}

// Lists of tensors are spread: each tensor is an operand. Tensors that no argument names come last.
std::vector<IrOperand> list_operands(const Node& node) {
  std::vector<IrOperand> operands;
  for (const Argument& argument : node.arguments) add_operands(node, argument, argument.name, operands);
  std::set<const Node::Input*> named;
  for (const IrOperand& operand : operands) named.insert(operand.tensor);
  for (const Node::Input& input : node.inputs)
    if (!named.contains(&input)) operands.push_back({"", &input, nullptr});
  return operands;
}

class IrWriter {
 public:
  IrWriter(const model::Graph& graph, const LineReader& read_line)
      : graph_(graph), read_line_(read_line), rows_(graph) {
    for (const GraphParameter& parameter : graph.parameters) {
      parameters_.emplace_back();
      if (parameter.role == GraphParameter::Role::constant) continue;
      parameters_.back() = "%para" + std::to_string(++parameter_count_) + "_" + spell_word(parameter.name);
    }
  }

  std::string write() {
    write_header();
    const std::string name = graph_name(graph_);
    out_ += "subgraph attr:\nsubgraph instance: " + name + " : 0x0\n";
    out_ += "# " + counted(graph_.nodes.size(), "operator") + " in order of execution\n";
    out_ += "subgraph @" + name + "() {\n";
    for (std::size_t i = 0; i < rows_.rows().size(); ++i) write_row(i);
    write_return();
    out_ += "}\n\n\n";
    return std::move(out_);
  }

 private:
  const model::Graph& graph_;
  const LineReader& read_line_;
  GraphRows rows_;
  std::size_t parameter_count_ = 0;
  std::vector<std::string> parameters_;  // "%para1_x" for each parameter; empty for constants
  std::string out_;

  static Described describe_parameter(const GraphParameter& parameter, const TensorType& type) {
    Described described = describe(type);
    if (parameter.role != GraphParameter::Role::weight) return described;
    described.type = "Ref[" + described.type + "]";
    described.extra = ", ref_key=" + spell_word(parameter.name);
    return described;
  }

  void write_header() {
    out_ += "# IR entry: @" + graph_name(graph_) + "\n# Total subgraphs: 1\n\n";
    out_ += "# Total params: " + std::to_string(parameter_count_) + "\n";
    if (parameter_count_ > 0) out_ += "# Params:\n";
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].empty()) continue;
      const GraphParameter& parameter = graph_.parameters[i];
      const Described described = describe_parameter(parameter, parameter.type);
      const bool is_weight = parameter.role == GraphParameter::Role::weight;
      out_ += parameters_[i] + ": " + described.host() + (is_weight ? "  :  has_default" : "") + "  :  " +
              described.device + "  :  IsWeight: " + (is_weight ? "true" : "false") + "\n";
    }
    write_counts();
  }

  // As MindSpore counts: parameters, calls with the Return, literals, and each primitive once.
  void write_counts() {
    std::size_t literal_count = graph_.nodes.empty() ? 1 : 0;
    std::set<std::string> types{"Return"};
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      types.insert(spell_operator_type(graph_.nodes[i].op.type));
      for (const IrOperand& operand : list_operands(graph_.nodes[i])) literal_count += is_literal(operand, i);
    }
    const std::size_t items = rows_.rows().size() - graph_.nodes.size();
    if (items > 0) types.emplace(kTupleGetItem);
    const std::size_t calls = rows_.rows().size() + 1;
    const std::size_t total = parameter_count_ + calls + literal_count + items + types.size();
    out_ += "\nNode counting information:\nTotal number of nodes: " + std::to_string(total) +
            "\nTotal number of cnodes: " + std::to_string(calls) + "\n\n";
  }

  // Whether no line of the file makes the operand.
  bool is_literal(const IrOperand& operand, std::size_t node) const {
    if (operand.literal != nullptr) return true;
    const Source& source = operand.tensor->source;
    return find_parameter(source) == nullptr && !rows_.find(source, node);
  }

  const GraphParameter* find_parameter(const Source& source) const {
    const bool known = source.kind == Source::Kind::parameter && source.index < parameters_.size();
    return known && !parameters_[source.index].empty() ? &graph_.parameters[source.index] : nullptr;
  }

  std::string format_operand(const IrOperand& operand, std::size_t node) const {
    if (operand.literal != nullptr) return format_literal(*operand.literal);
    const Source& source = operand.tensor->source;
    if (find_parameter(source) != nullptr) return parameters_[source.index];
    if (const auto row = rows_.find(source, node)) return "%" + std::to_string(*row);
    const TensorType& type = operand.tensor->type;
    std::string text =
        "Tensor(shape=[" + format_dims(type.shape) + "], dtype=" + class_name(type.dtype) + ", value=[...]";
    if (source.kind == Source::Kind::parameter && source.index < graph_.parameters.size())
      text += ", name=" + spell_word(graph_.parameters[source.index].name);
    return text + ")";
  }

  Described describe_operand(const IrOperand& operand, std::size_t node) const {
    if (operand.literal != nullptr) return describe(*operand.literal);
    const Source& source = operand.tensor->source;
    if (const GraphParameter* parameter = find_parameter(source))
      return describe_parameter(*parameter, operand.tensor->type);
    Described described = describe(operand.tensor->type);
    if (is_literal(operand, node)) described.extra = ", value=...";
    return described;
  }

  static Described describe_outputs(const Node& node) {
    std::vector<Described> items;
    for (std::uint32_t index = 0; index < output_count(node); ++index) {
      const Node::Output* output = find_output(node, index);
      items.push_back(output == nullptr ? describe_scalar("TypeNone", "Unknown") : describe(output->type));
    }
    if (items.empty()) return describe_scalar("TypeNone", "Unknown");
    return items.size() == 1 ? items[0] : describe_tuple(items);
  }

  void write_types(std::span<const Described> inputs, const Described& output) {
    std::vector<std::string> host, device, kinds;
    for (const Described& input : inputs) {
      host.push_back(input.host());
      device.push_back(input.device);
      kinds.emplace_back(input.kind);
    }
    out_ += "      : (" + join(host) + ") -> (" + output.host() + ")\n";
    out_ += "      : (" + join(device) + ") -> (" + output.device + ")\n";
    out_ += "      : (" + join(kinds) + ") -> (" + std::string(output.kind) + ")\n";
  }

  void write_row(std::size_t index) {
    const GraphRows::Row& row = rows_.rows()[index];
    out_ += "  %" + std::to_string(index) + "(CNode_" + std::to_string(index + 1) + ") = ";
    if (row.item)
      write_item(row);
    else
      write_node(row.node);
    out_ += "      # Fullname with scope: (" + rows_.full_name(row) + ")\n";
    for (const std::string& line : format_source_lines(graph_.nodes[row.node], read_line_))
      out_ += "      # " + line + "\n";
  }

  void write_item(const GraphRows::Row& row) {
    const Node& node = graph_.nodes[row.node];
    out_ += std::string(kTupleGetItem) + "(%" + std::to_string(rows_.row_of(row.node)) + ", I64(" +
            std::to_string(*row.item) + "))\n";
    const Described inputs[] = {describe_outputs(node), describe_scalar("Int64")};
    write_types(inputs, describe(find_output(node, *row.item)->type));
  }

  void write_node(std::size_t index) {
    const Node& node = graph_.nodes[index];
    std::vector<std::string> texts;
    std::vector<Described> inputs;
    const std::vector<IrOperand> operands = list_operands(node);
    for (const IrOperand& operand : operands) {
      texts.push_back(format_operand(operand, index));
      inputs.push_back(describe_operand(operand, index));
    }
    out_ += spell_operator_type(node.op.type) + "(" + join(texts) + ")";
    write_attributes(operands);
    out_ += "\n";
    write_types(inputs, describe_outputs(node));
  }

  // The names of the operands, and the indices of the tensors among them if these are not their positions.
  void write_attributes(std::span<const IrOperand> operands) {
    std::vector<std::string> names, indices;
    bool has_names = false, has_gaps = false;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      names.push_back(spell_word(operands[i].name));
      has_names |= !operands[i].name.empty();
      if (operands[i].tensor == nullptr) continue;
      indices.push_back(std::to_string(operands[i].tensor->index));
      has_gaps |= operands[i].tensor->index != i;
    }
    if (has_names) out_ += " primitive_attrs: {input_names: [" + join(names) + "]}";
    if (has_gaps) out_ += " cnode_attrs: {" + std::string(kOperandIndex) + ": (" + join(indices) + ")}";
  }

  // What a step returns is not known: the last operator stands for it.
  void write_return() {
    const bool empty = graph_.nodes.empty();
    const std::size_t last = empty ? 0 : graph_.nodes.size() - 1;
    const Described type =
        empty ? describe_scalar("TypeNone", "Unknown") : describe_outputs(graph_.nodes[last]);
    out_ += "  Return(" + (empty ? "None" : "%" + std::to_string(rows_.row_of(last))) + ")\n";
    out_ += "      : (" + type.host() + ")\n      # Fullname with scope: (Default/Return-op0)\n";
  }
};

}  // namespace

std::string spell_operator_type(std::string_view type) {
  std::string spelled;
  for (const char c : type) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool is_digit = c >= '0' && c <= '9';
    if (is_digit && spelled.empty()) spelled += '_';
    spelled += is_letter || is_digit ? c : '_';
  }
  return spelled.empty() ? "_" : spelled;
}

std::string encode_graph_ir(const model::Graph& graph, const LineReader& read_line) {
  return IrWriter(graph, read_line).write();
}

}  // namespace opdump::format
