// Any bytes as a ge_proto text. What is read is printed as text that reads the same, and JSON of it can be
// made.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "format/graphs/ge/ge_graph.h"

using namespace opdump;

namespace {

const std::string kSample = R"(graph {
  name: "ge_default_1"
  op { name: "a" type: "Data" input: "" id: 0x1 has_out_attr: true
    attr { key: "l" value { list { i: [1, -2] val_type: VT_LIST_INT } } }
    attr { key: "t" value { t { desc < dtype: DT_FLOAT shape { dim: 2 } > data: "\000\377\u00e9" 'x' } } }
    attr { key: "n" value { list_list_int { list_list_i { list_i: 3 } } } }
    attr { key: "f" value { f: 1e-05 } } attr { key: "g" value { g { op { name: "b" } } } }
    output_desc { dtype: DT_FLOAT16 layout: "NC1HWC0" later: 7 } }
}
# the end
)";

void check_text(std::string_view bytes) {
  const auto message = format::parse_proto_text(bytes);
  if (!message) return;
  const auto again = format::parse_proto_text(format::print_proto_text(*message));
  if (!again || !(*again == *message)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size % 2 == 0 && size > 0) {  // a whole file with something else in its middle
    const std::size_t place = kSample.size() * data[0] / 256;
    bytes = std::string(kSample).replace(place, std::min(size - 1, kSample.size() - place), bytes.substr(1));
  }
  check_text(bytes);
  const auto model = format::decode_ge_graph(bytes);
  if (!model) return 0;
  const auto graphs = format::list_ge_graphs(*model);
  if (graphs.empty()) std::abort();
  const auto json = format::ge_graph_json(*model);
  if (json["graph"].size() != graphs.size()) std::abort();
  return 0;
}
