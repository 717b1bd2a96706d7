#include "format/graphs/graph_rows.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/text/text.h"

namespace opdump::format {
namespace {

using model::Node;
using model::Source;
using model::SourceSpan;

constexpr std::string_view kInFile = "In file ";
constexpr std::string_view kHint = "/<~~";  // "This line of code can be shared by multiple nodes, ..."

// A decimal number at the start of `text`, which loses it.
std::optional<int> take_number(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = parse_int64(text.substr(0, end));
  if (!value || *value > std::numeric_limits<int>::max()) return std::nullopt;
  text.remove_prefix(end);
  return static_cast<int>(*value);
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// "9", "9~12"
bool take_range(std::string_view& text, int& first, int& last) {
  const auto begin = take_number(text);
  if (!begin) return false;
  const auto end = take(text, '~') ? take_number(text) : begin;
  first = *begin;
  last = end.value_or(0);
  return end.has_value();
}

// What follows the path: ":9~12, 4~31/" or "(9)/".
bool take_place(std::string_view& text, SourceSpan& span) {
  if (take(text, '('))
    return take_range(text, span.first_line, span.last_line) && take(text, ')') && take(text, '/');
  return take(text, ':') && take_range(text, span.first_line, span.last_line) && take(text, ',') &&
         take(text, ' ') && take_range(text, span.first_column, span.last_column) && take(text, '/');
}

SourceSpan own_span(const model::Operator& op) {
  SourceSpan span;
  span.file = op.source_file;
  span.first_line = span.last_line = op.source_line;
  return span;
}

std::string format_span(SourceSpan span, const LineReader& read_line) {
  if (span.code.empty()) {
    span.code = read_line(span.file, span.first_line).value_or("");
    span.code.resize(span.code.find_last_not_of(" \t\r\n") + 1);
    span.first_column = static_cast<int>(std::min(span.code.find_first_not_of(" \t"), span.code.size()));
    span.last_column = static_cast<int>(span.code.size());
  }
  std::string text(kInFile);
  text += one_line(span.file) + ":" + std::to_string(span.first_line);
  if (span.last_line != span.first_line) text += "~" + std::to_string(span.last_line);
  text += ", " + std::to_string(span.first_column) + "~" + std::to_string(span.last_column);
  return text + "/" + one_line(span.code) + "/";
}

bool is_installed(const SourceSpan& span) {
  return span.file.find("site-packages/") != std::string::npos ||
         span.file.find("dist-packages/") != std::string::npos;
}

}  // namespace

GraphRows::GraphRows(const model::Graph& graph) : graph_(graph) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> read;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const Node::Input& operand : graph.nodes[i].inputs) {
      const Source& source = operand.source;
      if (source.kind != Source::Kind::node || source.index >= i) continue;
      const Node& maker = graph.nodes[source.index];
      if (output_count(maker) > 1 && find_output(maker, source.output) != nullptr)
        read.emplace(source.index, source.output);
    }
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    rows_of_nodes_.push_back(rows_.size());
    rows_.push_back({i, std::nullopt, 0});
    for (auto item = read.lower_bound({i, 0}); item != read.end() && item->first == i; ++item) {
      items_[*item] = rows_.size();
      rows_.push_back({i, item->second, static_cast<std::uint32_t>(items_.size() - 1)});
    }
  }
}

std::optional<std::size_t> GraphRows::find(const Source& source, std::size_t node) const {
  if (source.kind != Source::Kind::node || source.index >= node) return std::nullopt;
  if (const auto item = items_.find({source.index, source.output}); item != items_.end()) return item->second;
  if (find_output(graph_.nodes[source.index], source.output) == nullptr) return std::nullopt;
  return rows_of_nodes_[source.index];
}

std::string GraphRows::full_name(const Row& row) const {
  const std::string& name = graph_.nodes[row.node].op.name;
  if (!row.item) return one_line(name);
  const std::size_t slash = name.rfind('/');
  const std::string scope = slash == std::string::npos ? "Default" : one_line(name.substr(0, slash));
  return scope + "/" + std::string(kTupleGetItem) + "-op" + std::to_string(row.item_number);
}

std::size_t output_count(const Node& node) {
  std::size_t count = 0;
  for (const Node::Output& output : node.outputs)
    count = std::max<std::size_t>(count, std::size_t{output.index} + 1);
  return count;
}

const Node::Output* find_output(const Node& node, std::uint32_t index) {
  const auto found = std::ranges::find(node.outputs, index, &Node::Output::index);
  return found == node.outputs.end() ? nullptr : &*found;
}

const Node::Input* find_input(const Node& node, std::uint32_t index) {
  const auto found = std::ranges::find(node.inputs, index, &Node::Input::index);
  return found == node.inputs.end() ? nullptr : &*found;
}

bool holds_tensor(const model::Argument& argument) {
  if (std::holds_alternative<model::Argument::Tensor>(argument.value)) return true;
  const auto* list = std::get_if<model::Argument::List>(&argument.value);
  return list != nullptr && std::ranges::any_of(*list, holds_tensor);
}

std::string graph_name(const model::Graph& graph) {
  return graph.name.empty() ? "kernel_graph" + std::to_string(graph.id) : spell_word(graph.name);
}

std::int64_t parse_graph_id(std::string_view name) {
  constexpr std::string_view kPrefix = "kernel_graph";
  if (!name.starts_with(kPrefix)) return 0;
  name.remove_prefix(kPrefix.size());
  take(name, '_');
  return parse_int64(name).value_or(0);
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return line;
}

std::string spell_word(std::string_view name) {
  std::string spelled = one_line(name);
  for (char& c : spelled)
    if (std::string_view(" ,:()<>[]{}@%\"#/\\").find(c) != std::string_view::npos) c = '_';
  return spelled;
}

std::vector<std::string> format_source_lines(const Node& node, const LineReader& read_line) {
  std::vector<std::string> lines;
  for (const SourceSpan& span : node.source) lines.push_back(format_span(span, read_line));
  if (lines.empty() && !node.op.source_file.empty())
    lines.push_back(format_span(own_span(node.op), read_line));
  return lines;
}

std::optional<SourceSpan> parse_source_line(std::string_view line) {
  const std::size_t start = line.find(kInFile);
  if (start == std::string_view::npos) return std::nullopt;
  line.remove_prefix(start + kInFile.size());
  for (std::size_t end = line.find_first_of(":("); end < line.size();
       end = line.find_first_of(":(", end + 1)) {
    SourceSpan span;
    std::string_view rest = line.substr(end);
    if (!take_place(rest, span)) continue;
    span.file = line.substr(0, end);
    span.code = rest.substr(0, std::min(rest.find(kHint), rest.rfind('/')));
    return span;
  }
  return std::nullopt;
}

void choose_source(Node& node) {
  const SourceSpan* chosen = nullptr;
  for (const SourceSpan& span : node.source) {
    if (!is_installed(span) || chosen == nullptr || is_installed(*chosen)) chosen = &span;
  }
  if (chosen == nullptr) return;
  node.op.source_file = chosen->file;
  node.op.source_line = chosen->first_line;
}

}  // namespace opdump::format
