#include "format/graphs/execution_order.h"

#include "base/text/text.h"
#include "format/graphs/graph_rows.h"

namespace opdump::format {
namespace {

constexpr std::string_view kHeader = "NodeExecutionOrder-FullNameWithScope";

// The next line of `text`, which loses it, without its ending (LF or CR LF).
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

std::string encode_execution_order(const model::Graph& graph) {
  std::string text(kHeader);
  text += "\n";
  for (const model::Node& node : graph.nodes) text += one_line(node.op.name) + "\n";
  return text;
}

Result<std::vector<std::string>> decode_execution_order(std::string_view text) {
  if (take_line(text) != kHeader)
    return Error(Code::corrupt, "the first line is not " + std::string(kHeader));
  std::vector<std::string> names;
  while (!text.empty())
    if (const std::string_view name = take_line(text); !name.empty()) names.emplace_back(name);
  return names;
}

GlobalOrder decode_global_order(std::string_view text) {
  GlobalOrder order;
  while (!text.empty()) {
    if (const auto step = parse_int64(trim(take_line(text))))
      order.steps.push_back(*step);
    else
      ++order.damaged_lines;
  }
  return order;
}

}  // namespace opdump::format
