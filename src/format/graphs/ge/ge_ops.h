// The operators of a graph in CANN's graph engine, cann.md 6, from which all its files are written. The
// inputs and outputs of a graph are operators, too: see ge_build.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "format/graphs/proto_text.h"
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

struct GeOp {
  std::string name, type;
  std::vector<std::string> inputs;                 // "conv:0" or ""
  std::map<std::size_t, std::string> input_names;  // "self", by place among the inputs, as far as known
  std::map<std::string, ProtoField> attributes;    // the fields of an AttrDef
  std::int64_t stream = 0;
  struct Edge {
    std::string name;
    std::int64_t index = 0;
  };
  std::vector<Edge> sources, targets;
  std::vector<model::TensorType> input_types, output_types;
  struct Subgraph {
    std::string attribute, graph;  // "then_branch", and the name of the graph
  };
  std::vector<Subgraph> subgraphs;
};

struct GeOps {
  std::string name;
  std::vector<GeOp> ops;            // the inputs, the operators, a NetOutput
  std::size_t parameter_count = 0;  // the number of inputs among them
};

// The graph, followed by the bodies of its operators, with the names of their operators.
std::vector<GeOps> make_ge_ops(const model::Graph& graph, const GeBuildOptions& options);

// An entry of the map `attr`.
ProtoField ge_attribute(std::string key, ProtoField value);

// The fields of a TensorDescriptor.
ProtoMessage describe_ge_tensor(const model::TensorType& type);

// Whether the graph has a backward or optimizer part.
bool is_training(const model::Graph& graph);

// "DT_FLOAT"; the words of the engine's ge.proto.
std::string_view ge_dtype_name(model::DType dtype);

// The attribute of an operator for its phase in the program: "forward", "backward",
// "optimizer". The engine has no such thing.
inline constexpr std::string_view kGePhase = "_opdump_phase";

}  // namespace opdump::format
