// Any bytes as an .ir. What was read must refer to what is there, and written and read again stay as it is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "format/graphs/graph_ir.h"
#include "format/graphs/sample_graph.h"

using namespace opdump;

namespace {

void check_sources(const model::Graph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const auto& input : graph.nodes[i].inputs) {
      const model::Source& source = input.source;
      if (source.kind == model::Source::Kind::node && source.index >= i) std::abort();
      if (source.kind == model::Source::Kind::parameter && source.index >= graph.parameters.size())
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  if (size % 2 == 0) {  // most inputs should get past the first line, into the middle of a file
    std::string sample = format::encode_graph_ir(format::sample_graph(), format::sample_line);
    const std::size_t place = size == 0 ? 0 : sample.size() * data[0] / 256;
    text = sample.insert(place, text);
  }
  const auto graphs = format::decode_graph_ir(text);
  if (!graphs) return 0;
  for (const model::Graph& graph : *graphs) {
    check_sources(graph);
    const std::string once = format::encode_graph_ir(graph, format::sample_line);
    const auto again = format::decode_graph_ir(once);
    if (!again || again->size() != 1) std::abort();
    check_sources((*again)[0]);
    if ((*again)[0].nodes.size() != graph.nodes.size()) std::abort();
    if (format::encode_graph_ir((*again)[0], format::sample_line) != once) std::abort();
  }
  return 0;
}
