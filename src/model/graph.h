// The operators that a step executed and the tensors that flow between them. A *node* is an execution, an
// *operand* a tensor that it reads, a *parameter* a tensor that enters the graph from outside.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/dtype.h"
#include "model/operator.h"
#include "model/shape.h"

namespace opdump::model {

// An argument of an operator: a literal, or the position of a tensor among its operands.
struct Argument {
  struct None {
    bool operator==(const None&) const = default;
  };
  struct Tensor {
    std::uint32_t operand = 0;  // operand index, as in file names
    std::string constant = {};  // the number of the program that it is; empty: a tensor like any other
    bool operator==(const Tensor&) const = default;
  };
  using List = std::vector<Argument>;  // items without names

  std::string name;  // in the operator's schema: "stride"
  std::variant<None, bool, std::int64_t, double, std::string, Tensor, List> value;
  bool is_non_finite = false;  // a text that stands for a value with an infinity or NaN
  bool operator==(const Argument&) const = default;
};

struct TensorType {
  DType dtype = DType::undefined;
  Shape shape;  // -1: it differed between executions; {-2}: their number differed
  bool operator==(const TensorType&) const = default;
};

// The source of a tensor.
struct Source {
  enum class Kind : std::uint8_t { unknown, node, parameter };
  Kind kind = Kind::unknown;
  std::uint32_t index = 0;   // into Graph::nodes or Graph::parameters
  std::uint32_t output = 0;  // of a node: which of its outputs
  bool operator==(const Source&) const = default;
};

struct GraphParameter {
  enum class Role : std::uint8_t { input, weight, constant };
  std::string name;  // "conv1.weight", "x"; of a constant "data-0"
  TensorType type;
  Role role = Role::input;
  bool operator==(const GraphParameter&) const = default;
};

// A position in a program: the call that executed a node, or one that led to it.
struct SourceSpan {
  std::string file;
  int first_line = 0, last_line = 0;      // from 1, both inclusive
  int first_column = 0, last_column = 0;  // from 0
  std::string code;                       // the text of one of its lines; empty if unreadable
  bool operator==(const SourceSpan&) const = default;
};

struct Body;

struct Node {
  struct Input {
    std::uint32_t index = 0;  // as in file names; operands that are absent leave gaps
    TensorType type;
    Source source;
    bool operator==(const Input&) const = default;
  };
  struct Output {
    std::uint32_t index = 0;
    TensorType type;
    bool operator==(const Output&) const = default;
  };

  Operator op;
  std::vector<Argument> arguments;  // in the order of the schema; empty if unknown
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  // The calls that led to it, outermost first, if a file of MindSpore has more than op.source_file.
  std::vector<SourceSpan> source;
  std::vector<Body> bodies;  // graphs that it executes, if known: the branches of an If
};

struct Graph {
  std::int64_t id = 0;
  std::string name;  // as in graph files; empty stands for kernel_graph{id}
  std::vector<GraphParameter> parameters;
  std::vector<Node> nodes;      // in order of execution
  std::vector<Source> outputs;  // the outputs of the graph, if known: of a model
};

// A graph that an operator executes. Its execution is not observed, so types are unknown. Values from
// outside are its parameters.
struct Body {
  std::string name;  // "then_branch"
  Graph graph;
};

}  // namespace opdump::model
