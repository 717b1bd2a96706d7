#include "compare/pairs/across/data_flow.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/worker_pool.h"
#include "compare/names.h"

namespace opdump::compare {
namespace {

FlowOperand make_operand(const dump::Slot& slot) {
  FlowOperand operand;
  operand.print = print_of(slot);
  operand.dtype = slot.dtype;
  operand.count = slot.shape      ? model::element_count(*slot.shape).value_or(0)
                  : operand.print ? operand.print->exact.count
                                  : 0;
  return operand;
}

FlowNode make_node(const dump::Runs& runs, std::uint32_t index) {
  const dump::OperatorRun run = runs[index];
  FlowNode node{.run = index, .first = index, .kind = kind_of(run.type)};
  node.path = run.op != nullptr && !run.op->module.empty() ? run.op->module : module_path(name_in_file(run));
  // msprobe names what runs backward, and the gradients of parameters, after the call forward or the module:
  // these are no operators of that kind, nor the last ones of that module.
  const bool is_backward = run.op != nullptr && run.op->phase == model::Phase::backward;
  if (is_backward &&
      (run.name.find(".backward") != run.name.npos || run.name.find(".parameters_grad") != run.name.npos)) {
    node.kind.name += "backward";
    node.path.clear();
  }
  node.is_of_optimizer = run.op != nullptr && run.op->phase == model::Phase::optimizer;
  node.last_path = node.path;
  if (run.form != nullptr && run.form->is_of_onnx()) node.onnx_name = run.name + '\n' + run.type;
  for (const dump::Slot& slot : run.slots)
    (slot.side == model::Side::input ? node.inputs : node.outputs).push_back(make_operand(slot));
  return node;
}

// How many tensors are added. MindSpore passes options as inputs of one element.
std::size_t count_summands(const FlowNode& node) {
  if (node.kind.name != "add" || node.outputs.empty() || node.is_of_optimizer) return 0;
  const std::uint64_t count = node.outputs[0].count;
  return static_cast<std::size_t>(std::ranges::count(node.inputs, count, &FlowOperand::count));
}

// Counts the terms of a sum or product but for numbers: one of the program is an input in ONNX, and none in
// PyTorch.
std::optional<std::ptrdiff_t> count_terms(const FlowNode& node) {
  constexpr std::string_view kKinds[] = {"add", "sub", "mul", "div"};
  if (std::ranges::find(kKinds, node.kind.name) == std::end(kKinds) || node.inputs.empty())
    return std::nullopt;
  return std::ranges::count_if(node.inputs, [](const FlowOperand& input) { return input.count > 1; });
}

// Whether `other` has all weights that `node` reads.
bool has_weights_of(const FlowNode& node, const FlowNode& other) {
  return node.has_other_weights || other.has_other_weights ||
         std::ranges::all_of(node.weights, [&](std::uint32_t weight) {
           return other.weights.contains(weight) || other.made_of.contains(weight);
         });
}

}  // namespace

bool are_alike(const FlowNode& a, const FlowNode& b) {
  const auto terms = count_terms(a), others = count_terms(b);
  return a.kind.name == b.kind.name && a.outputs[0].count == b.outputs[0].count &&
         a.is_of_optimizer == b.is_of_optimizer && (!terms || !others || terms == others) &&
         has_weights_of(a, b) && has_weights_of(b, a);
}

DataFlow::DataFlow(const dump::Runs& runs, std::uint32_t first, std::uint32_t last, unsigned threads)
    : nodes_(last - first) {
  parallel_for(nodes_.size(), threads,
               [&](std::size_t i) { nodes_[i] = make_node(runs, first + static_cast<std::uint32_t>(i)); });
  find_producers();
}

void DataFlow::find_producers() {
  struct Hash {
    std::size_t operator()(const Fingerprint& print) const { return print.sum ^ print.count; }
  };
  std::unordered_map<Fingerprint, std::uint32_t, Hash> producers;
  for (std::uint32_t i = 0; i < size(); ++i) {
    FlowNode& node = nodes_[i];
    for (FlowOperand& input : node.inputs) {
      input.producer = FlowNode::kNone;
      if (!input.print || !input.print->is_distinctive()) continue;
      const auto producer = producers.find(input.print->exact);
      if (producer != producers.end()) input.producer = producer->second;
    }
    const bool is_passed_on = node.kind.role == OperatorRole::moves || node.is_seen_through;
    const std::uint32_t producer = is_passed_on && !node.inputs.empty()       ? node.inputs[0].producer
                                   : node.kind.role == OperatorRole::computes ? i
                                                                              : FlowNode::kNone;
    for (const FlowOperand& output : node.outputs) {
      if (!output.print || !output.print->is_distinctive()) continue;
      if (producer == FlowNode::kNone)
        producers.erase(output.print->exact);
      else
        producers.insert_or_assign(output.print->exact, producer);
    }
  }
}

std::size_t DataFlow::count_kind(std::string_view kind) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(nodes_, [&](const FlowNode& node) { return node.kind.name == kind; }));
}

void DataFlow::see_through(std::string_view kind) {
  for (FlowNode& node : nodes_)
    if (node.kind.name == kind) node.is_seen_through = true;
  find_producers();
}

void DataFlow::join(std::uint32_t part, std::uint32_t whole) {
  FlowNode &before = nodes_[part], &after = nodes_[whole];
  std::vector<FlowOperand> inputs = before.inputs;
  for (const FlowOperand& input : after.inputs)
    if (input.producer != part) inputs.push_back(input);
  before.whole = whole;
  after.inputs = std::move(inputs);
  after.first = before.first;
  after.kind = before.kind;
  after.path = before.path;
}

void DataFlow::join_biases() {
  // MindSpore passes options as inputs of one element.
  const auto is_data = [](const FlowOperand& input) { return input.count > 1; };
  for (std::uint32_t i = 0; i < size(); ++i) {
    const FlowNode& add = nodes_[i];  // or ONNX Runtime's BiasGelu, which adds, too
    const OperatorKind kind = add.kind;
    if ((kind.name != "add" && kind.name != "gelu") || add.outputs.empty() ||
        std::ranges::count_if(add.inputs, is_data) != 2)
      continue;
    for (const std::size_t side : {0, 1}) {
      const std::uint32_t product = add.inputs[side].producer;
      const FlowOperand& bias = add.inputs[1 - side];
      if (product == FlowNode::kNone || nodes_[product].whole != FlowNode::kNone ||
          bias.producer != FlowNode::kNone || bias.count >= add.outputs[0].count ||
          add.inputs[side].count != add.outputs[0].count)
        continue;
      const FlowNode& before = nodes_[product];
      if ((before.kind.name != "linear" && before.kind.name != "conv") ||
          (kind.name == "add" && before.path != add.path) ||
          std::ranges::count_if(before.inputs, is_data) != 2)
        continue;
      join(product, i);
      if (kind.name == "gelu") nodes_[i].kind = kind;
      break;
    }
  }
}

std::size_t DataFlow::most_terms() const {
  std::size_t most = 0;
  for (const FlowNode& node : nodes_) most = std::max(most, count_summands(node));
  return most;
}

void DataFlow::join_sums() {
  std::vector<std::uint32_t> readers(nodes_.size());
  for (const FlowNode& node : nodes_)
    for (const FlowOperand& input : node.inputs)
      if (input.producer != FlowNode::kNone) ++readers[input.producer];
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (nodes_[i].whole != FlowNode::kNone || count_summands(nodes_[i]) < 2) continue;
    const std::vector<FlowOperand> inputs = nodes_[i].inputs;
    for (const FlowOperand& input : inputs) {
      const std::uint32_t part = input.producer;
      if (part == FlowNode::kNone || nodes_[part].whole != FlowNode::kNone || readers[part] != 1 ||
          count_summands(nodes_[part]) < 2 || nodes_[part].outputs[0].count != nodes_[i].outputs[0].count)
        continue;
      const std::string path = nodes_[i].path;
      join(part, i);
      nodes_[i].path = path;
      break;  // what a node reads is what its first part reads
    }
  }
}

void DataFlow::join_directions() {
  for (std::uint32_t i = 0; i < size(); ++i) {
    const FlowNode& joined = nodes_[i];
    if (joined.kind.name != "concat" || joined.inputs.size() < 2 || joined.outputs.empty()) continue;
    const bool are_recurrent = std::ranges::all_of(joined.inputs, [&](const FlowOperand& input) {
      return input.producer != FlowNode::kNone && nodes_[input.producer].kind.name == "recurrent" &&
             nodes_[input.producer].whole == FlowNode::kNone;
    });
    if (!are_recurrent) continue;
    const std::vector<FlowOperand> inputs = joined.inputs;
    for (const FlowOperand& input : inputs) join(input.producer, i);
    nodes_[i].has_other_weights = true;
  }
}

void DataFlow::fold_norms() {
  for (std::uint32_t i = 0; i < size(); ++i) {
    const FlowNode& norm = nodes_[i];
    if (norm.kind.name != "batchnorm" || norm.inputs.empty() || norm.outputs.empty()) continue;
    const std::uint32_t before = norm.inputs[0].producer;
    if (before == FlowNode::kNone || nodes_[before].whole != FlowNode::kNone) continue;
    if (nodes_[before].kind.name != "conv" && nodes_[before].kind.name != "linear") continue;
    join(before, i);
    nodes_[i].has_other_weights = true;
  }
}

}  // namespace opdump::compare
