// ms_output_trace_code_graph_{id}.pb: a graph as `debugger.ModelProto`, mindspore.md 5.4; page:
// docs/formats/graphs.md. The messages themselves are in graph_proto.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "format/graphs/graph_rows.h"
#include "model/graph.h"

namespace opdump::format {

inline constexpr std::uint64_t kMaxGraphPbBytes = std::uint64_t{256} << 20;

// The file of a graph: nodes with their number as name, constants and tensors of unknown source as cst{k},
// arguments that are no tensors as attributes. `read_line` fetches the program's text for source_address.
std::string encode_graph_pb(const model::Graph& graph, const LineReader& read_line);

// The graph of a ModelProto, of its sibling in mindspore.irpb, or of a bare GraphProto. TupleGetItem as in
// decode_graph_ir. All parameters are inputs: the file does not mark weights. Errors: corrupt; limit.
Result<model::Graph> decode_graph_pb(std::string_view bytes);

}  // namespace opdump::format
