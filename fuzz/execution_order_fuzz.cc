// Any bytes as execution-order files. Names are lines, and a rewritten file must mean the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "format/graphs/execution_order.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto history = opdump::format::decode_global_order(text);
  if (history.steps.size() + history.damaged_lines > size) std::abort();

  const auto names = opdump::format::decode_execution_order("NodeExecutionOrder-FullNameWithScope\n" + text);
  if (!names) std::abort();
  opdump::model::Graph graph;
  for (const std::string& name : *names) {
    if (name.empty() || name.find('\n') != std::string::npos) std::abort();
    graph.nodes.emplace_back().op.name = name;
  }
  const std::string once = opdump::format::encode_execution_order(graph);
  const auto again = opdump::format::decode_execution_order(once);
  if (!again || again->size() != names->size()) std::abort();
  return 0;
}
