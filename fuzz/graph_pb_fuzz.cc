// Any bytes as a .pb. Messages that were read are written to bytes that mean the same, and the graph in them
// can be written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "format/graphs/graph_pb.h"
#include "format/graphs/graph_proto.h"
#include "format/graphs/sample_graph.h"

using namespace opdump;

namespace {

template <typename Message>
void check_messages(const Result<Message>& message, Result<Message> (*decode)(std::string_view)) {
  if (!message) return;
  const std::string once = format::proto::encode(*message);
  const auto again = decode(once);
  if (again && format::proto::encode(*again) != once) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size % 2 == 0 && size > 0) {  // a whole file with something else in its middle
    static const std::string sample = format::encode_graph_pb(format::sample_graph(), format::sample_line);
    const std::size_t place = sample.size() * data[0] / 256;
    bytes = std::string(sample).replace(place, std::min(size - 1, sample.size() - place), bytes.substr(1));
  }
  check_messages(format::proto::decode_model(bytes), format::proto::decode_model);
  check_messages(format::proto::decode_graph(bytes), format::proto::decode_graph);
  const auto graph = format::decode_graph_pb(bytes);
  if (!graph) return 0;
  for (const model::Node& node : graph->nodes)
    for (const auto& input : node.inputs) {
      const auto& source = input.source;
      const bool is_node = source.kind == model::Source::Kind::node;
      const bool is_parameter = source.kind == model::Source::Kind::parameter;
      if (is_node && source.index >= graph->nodes.size()) std::abort();
      if (is_parameter && source.index >= graph->parameters.size()) std::abort();
    }
  const auto again = format::decode_graph_pb(format::encode_graph_pb(*graph, format::sample_line));
  if (again && again->nodes.size() != graph->nodes.size()) std::abort();
  return 0;
}
