// The operators of one step as a graph: who reads what, recognised by what is in the tensors. For pairing
// runs of different frameworks, where neither names nor numbers agree.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compare/facts/operator_kind.h"
#include "compare/wiring/tensor_print.h"
#include "dump/read/runs.h"

namespace opdump::compare {

struct FlowOperand {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint64_t count = 0;  // elements
  model::DType dtype = model::DType::undefined;
  std::optional<TensorPrint> print = {};
  // The node that computed an input, seen through those that only move data. A weight or data has none.
  std::uint32_t producer = kNone;
};

// An operator, or one that stands for several: a bias that is added is part of the product before it.
struct FlowNode {
  static constexpr std::uint32_t kNone = FlowOperand::kNone;
  std::uint32_t run = 0;           // in Runs
  std::uint32_t first = 0;         // in Runs: the operator whose inputs are those of the node
  std::uint32_t whole = kNone;     // the node that this one is part of
  bool has_other_weights = false;  // than the same operator of an export: only data can be compared
  bool is_left_out = false;        // a user says that it has no partner
  bool is_seen_through = false;    // what it reads counts as what it computes
  bool is_of_optimizer = false;
  OperatorKind kind = {};
  std::string path = {};
  std::string last_path = {};  // of the last one of several operators
  std::string onnx_name = {};  // and type, of an operator of ONNX
  std::vector<FlowOperand> inputs = {}, outputs = {};
  // The weights and data that it reads, of those that both runs read, by number; and that those read from
  // which it gets what they made of nothing else, as a weight that the program scales before its network
  // runs.
  std::set<std::uint32_t> weights = {}, made_of = {};

  bool can_pair() const {
    return whole == kNone && !is_left_out && !is_seen_through && kind.role == OperatorRole::computes &&
           !outputs.empty();
  }
};

// Whether two operators are of one kind, have as many terms and elements, and read the same of the weights
// and the data that both runs read: a product with its bias is another operator than one whose bias is added
// later.
bool are_alike(const FlowNode& a, const FlowNode& b);

class DataFlow {
 public:
  // Describes the executions [first, last) of `runs`. Reads all their tensors with `threads` threads.
  DataFlow(const dump::Runs& runs, std::uint32_t first, std::uint32_t last, unsigned threads);

  std::vector<FlowNode>& nodes() { return nodes_; }
  const std::vector<FlowNode>& nodes() const { return nodes_; }
  const FlowNode& operator[](std::uint32_t node) const { return nodes_[node]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  std::size_t count_kind(std::string_view kind) const;

  // Whether operators quantise and dequantise.
  bool is_quantised() const { return count_kind("quantizelinear") + count_kind("dequantizelinear") > 0; }

  // Sees through operators of a kind. Call it before the next ones.
  void see_through(std::string_view kind);
  // Makes a product and the bias that is added to it one node.
  void join_biases();
  // The most tensors that an operator adds.
  std::size_t most_terms() const;
  // Makes additions that add to the result of one another, which nothing else reads, one node.
  void join_sums();
  // Makes the two directions of a recurrent layer and what puts their results together one node.
  void join_directions();
  // Makes a convolution or product and the batch normalisation that reads it one node, as exporters do.
  void fold_norms();

 private:
  void find_producers();
  // `part` computes what `whole` reads first.
  void join(std::uint32_t part, std::uint32_t whole);
  std::vector<FlowNode> nodes_;
};

}  // namespace opdump::compare
