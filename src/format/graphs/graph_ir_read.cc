#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/file/content.h"
#include "base/text/text.h"
#include "format/graphs/graph_ir.h"
#include "format/graphs/ir_text.h"

namespace opdump::format {
namespace {

using model::Argument;
using model::GraphParameter;
using model::Node;
using model::Source;
using model::TensorType;

// A name up to what ends it in this grammar.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of(" :,()[]{}<>"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

bool skip(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

// The pieces of the list behind `key` in a node's attributes.
std::vector<std::string_view> find_list(std::string_view attributes, std::string_view key) {
  const std::size_t found = attributes.find(key);
  if (found == std::string_view::npos) return {};
  attributes.remove_prefix(found + key.size());
  skip(attributes, ": ");
  return take_list(attributes).value_or(std::vector<std::string_view>());
}

// True for the first line of a node among whose operands is a tensor that is printed in several lines:
// "  %3(a) = Mul(Tensor(shape=[2, 1], dtype=Float32, value=".
bool is_open(std::string_view line) {
  const bool is_node = trim(line).starts_with('%') && trim(line).ends_with("value=");
  const std::size_t operands = is_node ? line.find('(', line.find(" = ")) : std::string_view::npos;
  if (operands == std::string_view::npos) return false;
  line.remove_prefix(operands);
  return !take_list(line);
}

// Where the line ends in which the operands of the open node do that begins at `text`; `end` if that is far.
std::size_t find_end_of_operands(std::string_view text, std::size_t end) {
  constexpr std::size_t kFar = 1 << 20;
  const std::size_t close = text.substr(0, kFar).find("\n      : (", end);  // of the types
  return close == std::string_view::npos ? end : close;
}

class IrReader {
 public:
  Result<std::vector<model::Graph>> read(std::string_view text) {
    const std::string_view content = recognise_content(text);
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::size_t line = is_open(text.substr(0, end)) ? find_end_of_operands(text, end) : end;
      read_line(text.substr(0, line));
      text.remove_prefix(std::min(line + 1, text.size()));
    }
    if (!has_entry_ && graphs_.empty())
      return Error(Code::corrupt, std::string("there is no graph in it") +
                                      (content.empty() ? "" : "; it is " + std::string(content)));
    if (graphs_.empty()) begin_graph(entry_);
    const auto entry = std::ranges::find(graphs_, entry_, &model::Graph::name);
    if (entry != graphs_.end()) std::rotate(graphs_.begin(), entry, entry + 1);
    for (model::Graph& graph : graphs_)
      for (Node& node : graph.nodes) choose_source(node);
    return std::move(graphs_);
  }

 private:
  std::vector<model::Graph> graphs_;
  std::string entry_;
  bool has_entry_ = false, entry_begun_ = false, in_graph_ = false;

  // The list at the head of the file names the first two; the nodes of the graph may read the others.
  std::vector<std::pair<std::string, GraphParameter>> file_parameters_;
  std::map<std::string, std::size_t, std::less<>> file_tokens_;
  std::unordered_map<std::string, Source> sources_;  // by what stands in operands: "%3", "%para1_x"
  std::vector<std::optional<TensorType>> parameter_types_;

  // These belong to the node whose lines are being read: which operand each input is, until its types are
  // known.
  bool in_node_ = false, has_types_ = false;
  std::vector<std::size_t> positions_;
  std::size_t operand_count_ = 0;

  model::Graph& graph() { return graphs_.back(); }

  void read_line(std::string_view line) {
    line = trim(line);
    if (line.starts_with('#')) return read_comment(line);
    if (line.starts_with(": ")) return read_detail(line.substr(2));
    if (line.starts_with("%para")) return read_parameter(line);
    if (line.starts_with('%')) return read_node(line);
    if (skip(line, "subgraph @")) return read_graph(line);
    if (line.starts_with("Return(") || line == "}") in_node_ = false;
    if (line == "}") in_graph_ = false;
  }

  void read_comment(std::string_view line) {
    if (skip(line, "# IR entry: @") || skip(line, "#IR entry")) {  // release 1: "#IR entry      : @NAME"
      line.remove_prefix(std::min(line.find_first_not_of(" :@"), line.size()));
      entry_ = take_word(line);
      has_entry_ = true;
    } else if (skip(line, "# Parameters: ")) {
      line.remove_prefix(std::min(line.find('('), line.size()));
      parameter_types_.clear();
      for (const std::string_view piece : take_list(line).value_or(std::vector<std::string_view>()))
        parameter_types_.push_back(parse_types(piece).front());
    } else if (in_node_ && !read_name(line)) {
      if (auto span = parse_source_line(line)) graph().nodes.back().source.push_back(std::move(*span));
    }
  }

  // "Fullname with scope: (NAME)"; before version 2, "full_name_with_scope: (NAME)".
  bool read_name(std::string_view line) {
    const std::size_t scope = std::min(line.find("scope"), line.find("In file"));
    const std::size_t open = line.find(": (");
    const std::size_t close = line.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open + 3 ||
        open < scope || !line.substr(scope).starts_with("scope"))
      return false;
    graph().nodes.back().op.name = line.substr(open + 3, close - open - 3);
    return true;
  }

  void read_detail(std::string_view line) {
    if (!in_node_) return;
    if (!line.starts_with('(')) {
      read_name(line);
      return;
    }
    if (has_types_) return read_bare_name(line);  // or types of the device, or kinds
    has_types_ = true;
    if (const auto inputs = take_list(line)) set_inputs(*inputs);
    if (!skip(line, " -> ")) return;
    if (const auto outputs = take_list(line)) set_outputs(*outputs);
  }

  // "(Default/fc-Dense/MatMul-op0)" behind the types: release 1 says no more.
  void read_bare_name(std::string_view line) {
    std::string& name = graph().nodes.back().op.name;
    const auto list = take_list(line);
    if (name.empty() && list && list->size() == 1 && line.empty() && !list->front().starts_with('<'))
      name = list->front();
  }

  void set_inputs(const std::vector<std::string_view>& types) {
    if (types.size() != operand_count_) return;
    Node& node = graph().nodes.back();
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      const auto parsed = parse_types(types[positions_[i]]);
      if (parsed.size() != 1 || !parsed[0]) continue;
      node.inputs[i].type = *parsed[0];
      const Source& source = node.inputs[i].source;
      if (source.kind != Source::Kind::parameter) continue;
      GraphParameter& parameter = graph().parameters[source.index];
      if (parameter.role == GraphParameter::Role::constant) parameter.type = *parsed[0];
    }
  }

  void set_outputs(const std::vector<std::string_view>& types) {
    std::uint32_t index = 0;
    for (const std::string_view type : types)
      for (const auto& tensor : parse_types(type)) {
        if (tensor) graph().nodes.back().outputs.push_back({index, *tensor});
        ++index;
      }
  }

  // "%para2_fc.weight: <Ref[Tensor[Float32]], (3, 3)>  :  has_default  :  ...  :  IsWeight: true"
  void read_parameter(std::string_view line) {
    const std::string token(take_word(line));
    GraphParameter parameter = named(token);
    if (!skip(line, ": ") && !skip(line, " : ")) return;
    const bool is_reference = line.starts_with("<Ref[");
    if (const auto types = parse_types(line); types.size() == 1 && types[0]) parameter.type = *types[0];
    if (line.find("IsWeight: true") != std::string_view::npos ||
        (is_reference && line.find("IsWeight: false") == std::string_view::npos))
      parameter.role = GraphParameter::Role::weight;
    file_tokens_.emplace(token, file_parameters_.size());
    file_parameters_.emplace_back(token, std::move(parameter));
  }

  static GraphParameter named(std::string_view token) {
    const std::size_t underscore = token.find('_');
    return {std::string(underscore == std::string_view::npos ? token : token.substr(underscore + 1)),
            {},
            GraphParameter::Role::input};
  }

  Source add_parameter(const std::string& token, GraphParameter parameter) {
    const Source source{Source::Kind::parameter, static_cast<std::uint32_t>(graph().parameters.size()), 0};
    graph().parameters.push_back(std::move(parameter));
    return sources_[token] = source;
  }

  void begin_graph(std::string name) {
    const bool is_entry = !entry_begun_ && (name == entry_ || !has_entry_);
    entry_begun_ |= is_entry;
    graphs_.emplace_back();
    graph().id = parse_graph_id(name);
    graph().name = std::move(name);
    sources_.clear();
    in_graph_ = true;
    in_node_ = false;
    if (!is_entry) return;
    for (const auto& [token, parameter] : file_parameters_) add_parameter(token, parameter);
  }

  // "kernel_graph0 parent: [subgraph @p](%para1_x, ...) {"
  void read_graph(std::string_view line) {
    begin_graph(std::string(take_word(line)));
    line.remove_prefix(std::min(line.find('('), line.size()));
    const auto pieces = take_list(line).value_or(std::vector<std::string_view>());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      std::string_view piece = pieces[i];
      const std::string token(take_word(piece));
      GraphParameter parameter = named(token);
      if (pieces.size() == parameter_types_.size() && parameter_types_[i])
        parameter.type = *parameter_types_[i];
      if (!sources_.contains(token)) add_parameter(token, std::move(parameter));
    }
    parameter_types_.clear();
  }

  // "%0(CNode_1) = MatMul(%para1_x, Bool(0)) primitive_attrs: {...}"; a call of a value begins "%5[...](".
  void read_node(std::string_view line) {
    const std::string token(take_word(line));
    if (!take_list(line) || !skip(line, " = ")) return;
    if (!in_graph_) begin_graph("");
    Node node;
    std::vector<std::string_view> operands;
    const std::string_view callee = take_word(line);
    node.op.type = callee;
    if (callee.starts_with('%')) {
      take_list(line);  // what the value can be
      operands.push_back(callee);
      node.op.type = "call";
    }
    const auto list = take_list(line);
    if (!list || node.op.type.empty()) return;
    operands.insert(operands.end(), list->begin(), list->end());
    add_node(token, std::move(node), operands, line);
  }

  void add_node(const std::string& token, Node node, const std::vector<std::string_view>& operands,
                std::string_view attributes) {
    in_node_ = has_types_ = false;
    if (take_item(token, node, operands)) return;
    operand_count_ = operands.size();
    positions_.clear();
    read_operands(operands, find_list(attributes, "input_names"), node);
    apply_operand_index(find_list(attributes, kOperandIndex), node);
    sources_[token] = {Source::Kind::node, static_cast<std::uint32_t>(graph().nodes.size()), 0};
    node.op.graph_id = graph().id;
    graph().nodes.push_back(std::move(node));
    in_node_ = true;
  }

  // Whether the node only takes an output of another one.
  bool take_item(const std::string& token, const Node& node, const std::vector<std::string_view>& operands) {
    const std::string type = to_lower(node.op.type);
    if ((type != "tuplegetitem" && type != "tuple_getitem") || operands.size() != 2) return false;
    auto source = find_source(operands[0]);
    const Argument item = parse_literal(operands[1]);
    const auto* index = std::get_if<std::int64_t>(&item.value);
    if (!source || index == nullptr || !std::in_range<std::uint32_t>(*index)) return false;
    source->output = static_cast<std::uint32_t>(*index);
    sources_[token] = *source;
    return true;
  }

  std::optional<Source> find_source(std::string_view operand) {
    const std::string token(take_word(operand));
    if (const auto found = sources_.find(token); found != sources_.end()) return found->second;
    const auto in_file = file_tokens_.find(token);  // a sub-graph may read what the entry is given
    if (in_file == file_tokens_.end()) return std::nullopt;
    return add_parameter(token, file_parameters_[in_file->second].second);
  }

  // "Tensor(shape=[2], dtype=Float32, value=[...], name=data-0)": only ours have names.
  std::optional<Source> find_constant(std::string_view operand) {
    constexpr std::string_view kName = ", name=";
    const std::size_t start = operand.rfind(kName);
    if (start == std::string_view::npos) return std::nullopt;
    operand.remove_prefix(start + kName.size());
    const std::string name(take_word(operand));
    if (const auto found = sources_.find(name); found != sources_.end()) return found->second;
    return add_parameter(name, {name, {}, GraphParameter::Role::constant});
  }

  void read_operands(const std::vector<std::string_view>& operands,
                     const std::vector<std::string_view>& names, Node& node) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::string_view operand = operands[i];
      Argument argument{names.size() == operands.size() ? std::string(names[i]) : "", Argument::None{}};
      if (operand.starts_with('%') || operand.starts_with("Tensor(")) {
        const auto index = static_cast<std::uint32_t>(i);
        argument.value = Argument::Tensor{index};
        positions_.push_back(i);
        const auto source = operand.starts_with('%') ? find_source(operand) : find_constant(operand);
        node.inputs.push_back({index, {}, source.value_or(Source())});
      } else {
        argument.value = parse_literal(operand).value;
      }
      node.arguments.push_back(std::move(argument));
    }
  }

  static void apply_operand_index(const std::vector<std::string_view>& indices, Node& node) {
    if (indices.size() != node.inputs.size() || indices.empty()) return;
    std::size_t next = 0;
    for (Argument& argument : node.arguments) {
      auto* tensor = std::get_if<Argument::Tensor>(&argument.value);
      if (tensor == nullptr) continue;
      const auto index = parse_uint64(indices[next]);
      if (index && *index <= std::numeric_limits<std::uint32_t>::max())
        node.inputs[next].index = tensor->operand = static_cast<std::uint32_t>(*index);
      ++next;
    }
  }
};

}  // namespace

Result<std::vector<model::Graph>> decode_graph_ir(std::string_view text) {
  if (text.size() > kMaxGraphIrBytes)
    return Error(Code::limit, "larger than " + std::to_string(kMaxGraphIrBytes) + " bytes");
  return IrReader().read(text);
}

}  // namespace opdump::format
