// Converts a recorded graph to one of CANN's graph engine, cann.md 6; page: docs/ge-graph.md. In these graphs
// all inputs are operators:
//   an input of the user   Data
//   a weight               Variable in a graph that trains (has a backward or optimizer part), else Const
//   a constant             Const
// The outputs go to a NetOutput: those declared by the engine, else the outputs that no operator reads.
// Bodies of operators are additional graphs after the graph.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "format/graphs/ge/ge_ops.h"
#include "model/graph.h"

namespace opdump::format {

// Parts of the text of a ModelDef, of that of an ONNX model (ge_onnx.h) and of that for people
// (ge_readable.h).
struct GeTexts {
  std::string proto, onnx, readable;
};
// Receives the texts piece by piece, because a large step has large texts.
using GeTextSink = std::function<Result<>(const GeTexts& texts)>;

// Names of operators are those of the graph; of equal names the later get _2, _3, ... Errors: those of the
// sink.
Result<> encode_ge_graph(const model::Graph& graph, const GeBuildOptions& options, const GeTextSink& sink);

}  // namespace opdump::format
