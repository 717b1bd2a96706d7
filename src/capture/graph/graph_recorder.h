// Which operators each step executed and how tensors flowed between them. A step is an execution of a graph:
// the same operators, in whatever order the threads of the program ran them, are the same graph; another set
// of operators -- control flow that took another path -- is a new one.
//
// While a step runs only the identities and types of its tensors are logged. Nodes and edges are made of the
// log when the step has ended and its graph is new, or known with other shapes than it had: dimensions that
// differed are -1 from then on.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/graph/footprint.h"
#include "model/graph.h"

namespace opdump::capture {

struct DefinedOperator;

// A tensor of an executed operator, as far as the graph needs it.
struct GraphTensor {
  std::uint64_t value = 0, content = 0;  // see opdump_tensor; 0: unknown
  Footprint where = {};                  // if its block is known, `value` means nothing
  bool is_view = false;                  // its operator moved no data
  const char* name = nullptr;            // of a parameter; lives as long as the session
  std::uint32_t index = 0;               // operand index
  model::GraphParameter::Role role = model::GraphParameter::Role::input;
  std::array<std::byte, 16> constant{};  // the data of a constant
  model::TensorType type = {};
};

// What the engine reports of an operator once: the same in every step.
struct NodeDetail {
  std::vector<model::Argument> arguments;
  std::vector<model::Body> bodies;
};

// Thread-safe.
class GraphRecorder {
 public:
  // More operators than this in a step, or more graphs than this in a run, are not recorded.
  static constexpr std::size_t kMaxCalls = 1 << 20, kMaxGraphs = 256;
  // Shapes of this many operators are compared with those of later steps, over all graphs.
  static constexpr std::size_t kMaxCompared = 1 << 17;

  // The graph that the step under way is expected to be: that of the step before.
  std::int64_t expected_graph() const { return expected_; }

  // Logs an execution. The tensors are moved. `detail` is given at the first one of this operator.
  void note(const DefinedOperator& op, std::span<GraphTensor> inputs, std::span<GraphTensor> outputs,
            std::optional<NodeDetail> detail);

  struct Constant {
    std::string name;  // "data-0"
    model::TensorType type;
    std::array<std::byte, 16> data;
  };
  struct EndedStep {
    std::int64_t graph_id = 0;
    bool is_new = false;
    std::optional<model::Graph> graph;  // if it is new, or known with other shapes
    std::vector<Constant> constants;    // of this graph
    std::string loss;                   // why there is no graph although it is new; empty if there is one
  };
  // Ends the step under way and begins the next. `outputs` are the values that its graph gives, if that is
  // known. Nothing if no operator was executed.
  std::optional<EndedStep> end_step(std::span<const std::uint64_t> outputs = {});

 private:
  struct LoggedCall {
    const DefinedOperator* op;
    std::uint32_t input_count, output_count;
  };
  // The types of the tensors of a call, inputs before outputs.
  using Types = std::vector<model::TensorType>;
  struct KnownGraph {
    std::int64_t id = 0;
    std::unordered_map<const DefinedOperator*, Types> types;
  };
  struct GraphKey {
    std::uint64_t hash, count;
    auto operator<=>(const GraphKey&) const = default;
  };
  template <typename F>
  void for_each_call(F&& body);
  bool compare_types(KnownGraph& graph, bool is_new);
  void build(EndedStep& ended, std::span<const std::uint64_t> outputs);
  void clear_log();

  mutable std::mutex mutex_;  // guards the rest
  std::vector<LoggedCall> calls_;
  std::vector<GraphTensor> tensors_;  // of all calls, inputs before outputs
  GraphKey key_{};                    // of the step so far
  std::unordered_map<const DefinedOperator*, NodeDetail> details_;
  std::map<GraphKey, KnownGraph> known_;
  std::size_t compared_ = 0;  // entries of KnownGraph::types
  std::atomic<std::int64_t> expected_{0};
};

}  // namespace opdump::capture
