// The operators of a graph in CANN's graph engine, cann.md 6, from which all its files are written. The
// inputs and outputs of a graph are operators, too: see ge_build.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "format/graphs/ge_build.h"
#include "format/graphs/proto_text.h"
#include "model/graph.h"

namespace opdump::format {

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

}  // namespace opdump::format
