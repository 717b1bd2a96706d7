#include "capture/graph_recorder.h"

#include <algorithm>

#include "capture/session.h"

namespace opdump::capture {
namespace {

using model::GraphParameter;
using model::Source;

// Spreads the bits of a pointer, so that sums of them tell sets apart.
std::uint64_t mix(std::uintptr_t pointer) {
  std::uint64_t h = pointer * 0x9E3779B97F4A7C15u;
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93u;
  return h ^ h >> 32;
}

// Follows the tensors of one step from where they are made to where they are read.
class EdgeFinder {
 public:
  explicit EdgeFinder(model::Graph& graph, std::vector<GraphRecorder::Constant>& constants)
      : graph_(graph), constants_(constants) {}

  Source find(const GraphTensor& tensor, const model::TensorType& type) {
    if (const auto known = by_value_.find(tensor.value); tensor.value != 0 && known != by_value_.end())
      return known->second;
    // A view that nobody made while we looked: the operator that wrote the memory.
    if (const auto known = by_content_.find(tensor.content);
        tensor.content != 0 && known != by_content_.end())
      return known->second;
    const Source source{Source::Kind::parameter, add_parameter(tensor, type), 0};
    if (tensor.value != 0) by_value_.emplace(tensor.value, source);
    return source;
  }

  void add(const GraphTensor& output, Source source, std::span<const GraphTensor> inputs) {
    // What has the value already keeps its maker: detach() makes nothing.
    if (output.value != 0) by_value_.try_emplace(output.value, source);
    const bool is_view = std::ranges::any_of(
        inputs, [&](const GraphTensor& input) { return input.content == output.content; });
    if (output.content != 0 && !is_view) by_content_.insert_or_assign(output.content, source);
  }

 private:
  std::uint32_t add_parameter(const GraphTensor& tensor, const model::TensorType& type) {
    GraphParameter parameter{.name = {}, .type = type, .role = tensor.role};
    const auto number = static_cast<std::uint32_t>(graph_.parameters.size());
    if (tensor.role == GraphParameter::Role::constant) {
      parameter.name = "data-" + std::to_string(constants_.size());
      constants_.push_back({parameter.name, type, tensor.constant});
    } else {
      parameter.name = tensor.name ? tensor.name : "input_" + std::to_string(++unnamed_);
    }
    graph_.parameters.push_back(std::move(parameter));
    return number;
  }

  model::Graph& graph_;
  std::vector<GraphRecorder::Constant>& constants_;
  std::size_t unnamed_ = 0;
  std::unordered_map<std::uint64_t, Source> by_value_, by_content_;
};

model::TensorType type_at(const std::vector<model::TensorType>& types, std::size_t index) {
  return index < types.size() ? types[index] : model::TensorType{};
}

}  // namespace

void GraphRecorder::note(const DefinedOperator& op, std::span<const GraphTensor> inputs,
                         std::span<const GraphTensor> outputs, std::optional<NodeDetail> detail) {
  const std::lock_guard lock(mutex_);
  if (detail) details_.try_emplace(&op, std::move(*detail));
  key_.hash += mix(reinterpret_cast<std::uintptr_t>(&op));
  if (++key_.count > kMaxCalls) return;
  calls_.push_back(
      {&op, static_cast<std::uint32_t>(inputs.size()), static_cast<std::uint32_t>(outputs.size())});
  tensors_.insert(tensors_.end(), inputs.begin(), inputs.end());
  tensors_.insert(tensors_.end(), outputs.begin(), outputs.end());
}

void GraphRecorder::clear_log() {
  calls_.clear();
  tensors_.clear();
  key_ = {};
}

void GraphRecorder::build(EndedStep& ended) const {
  model::Graph& graph = ended.graph.emplace();
  graph.id = ended.graph_id;
  graph.nodes.reserve(calls_.size());
  EdgeFinder edges(graph, ended.constants);
  std::span<const GraphTensor> rest(tensors_);
  for (const LoggedCall& call : calls_) {
    const auto inputs = rest.first(call.input_count);
    const auto outputs = rest.subspan(call.input_count, call.output_count);
    rest = rest.subspan(inputs.size() + outputs.size());
    model::Node node;
    node.op = call.op->op;
    node.op.graph_id = graph.id;
    const auto known = details_.find(call.op);
    const NodeDetail detail = known == details_.end() ? NodeDetail{} : known->second;
    node.arguments = detail.arguments;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const model::TensorType type = type_at(detail.inputs, i);
      node.inputs.push_back({inputs[i].index, type, edges.find(inputs[i], type)});
    }
    const auto number = static_cast<std::uint32_t>(graph.nodes.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      node.outputs.push_back({outputs[i].index, type_at(detail.outputs, i)});
      edges.add(outputs[i], {Source::Kind::node, number, outputs[i].index}, inputs);
    }
    graph.nodes.push_back(std::move(node));
  }
}

std::optional<GraphRecorder::EndedStep> GraphRecorder::end_step() {
  const std::lock_guard lock(mutex_);
  if (key_.count == 0) return std::nullopt;
  EndedStep ended;
  const auto [known, is_new] = known_.try_emplace(key_, static_cast<std::int64_t>(known_.size()));
  expected_ = ended.graph_id = known->second;
  if (is_new && key_.count > kMaxCalls)
    ended.loss = "more than " + std::to_string(kMaxCalls) + " operators in one step";
  else if (is_new && known_.size() > kMaxGraphs)
    ended.loss = "more than " + std::to_string(kMaxGraphs) + " different graphs";
  else if (is_new)
    build(ended);
  clear_log();
  return ended;
}

}  // namespace opdump::capture
