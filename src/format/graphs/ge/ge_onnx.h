// ge_onnx_*.pbtxt: a graph of CANN's graph engine as the text of an ONNX model, which viewers of networks
// open (cann.md 6). Operators are nodes of type "ge:Conv2D"; other properties of operators and tensors are
// attributes ("output_desc_shape:0").
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "format/graphs/proto_text.h"

namespace opdump::format {

// The beginning of an onnx.ModelProto; nodes follow, then the name of the graph and a brace.
inline constexpr std::string_view kGeOnnxBegin = "ir_version: 6\nproducer_name: \"opdump\"\ngraph {\n";

// The text around the nodes of a graph that an operator executes. As in the engine, they are in an attribute
// of a node of type "subgraph".
inline constexpr std::size_t kGeOnnxBodyIndent = 8;
std::string ge_onnx_begin_body(std::string_view name);
std::string ge_onnx_end_body(std::string_view name);

// The node of an OpDef. `only_relations`: its name, type and edges.
ProtoField ge_onnx_node(const ProtoMessage& op, bool only_relations);

}  // namespace opdump::format
