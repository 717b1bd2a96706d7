// ge_onnx_*.pbtxt: a graph of CANN's graph engine as the text of an ONNX model, which viewers of networks
// open (cann.md 6). Operators are nodes of type "ge:Conv2D"; what else is known of them and of their tensors
// are attributes ("output_desc_shape:0").
#pragma once

#include "format/proto_text.h"

namespace opdump::format {

// The fields of an onnx.ModelProto with the first graph of a ModelDef. `only_relations`: names, types and
// edges.
ProtoMessage build_ge_onnx(const ProtoMessage& ge_model, bool only_relations);

}  // namespace opdump::format
