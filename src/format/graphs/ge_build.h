// Converts a recorded graph to one of CANN's graph engine, cann.md 6; page: docs/ge-graph.md. In these graphs
// all inputs are operators:
//   an input of the user   Data
//   a weight               Variable in a graph that trains (has a backward or optimizer part), else Const
//   a constant             Const
// The outputs go to a NetOutput: those declared by the engine, else the outputs that no operator reads.
// Bodies of operators are additional graphs after the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/graph.h"

namespace opdump::format {

// The first and the last of the engine's stages. Before it is built, a graph has no ids, and only its inputs
// have tensors.
enum class GeStage : std::uint8_t { pre_run_begin, build };
inline constexpr std::string_view kGeStageNames[] = {"PreRunBegin", "Build"};

struct GeBuildOptions {
  GeStage stage = GeStage::build;
  std::string name;  // of the graph: the directory {model_name} of its dump
  // The elements of a weight or constant in row-major order, or nothing: they are left out then.
  std::function<std::string(std::string_view name)> read_data;
  bool only_relations = false;  // of the ONNX text
};

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

// Whether the graph has a backward or optimizer part.
bool is_training(const model::Graph& graph);

// "DT_FLOAT"; the words of the engine's ge.proto.
std::string_view ge_dtype_name(model::DType dtype);

// The attribute of an operator for its phase in the program: "forward", "backward",
// "optimizer". The engine has no such thing.
inline constexpr std::string_view kGePhase = "_opdump_phase";

}  // namespace opdump::format
