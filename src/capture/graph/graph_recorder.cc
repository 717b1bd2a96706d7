#include "capture/graph/graph_recorder.h"

#include <algorithm>
#include <iterator>

#include "capture/operator_table.h"

namespace opdump::capture {
namespace {

using model::GraphParameter;
using model::Source;

// Spreads the bits of a pointer, so that sums of them differ for different sets.
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

  // Finds the operator or the parameter that made what a step gives.
  Source find_made(std::uint64_t value) const {
    const auto known = by_value_.find(value);
    return known == by_value_.end() ? Source{} : known->second;
  }

  Source find(const GraphTensor& tensor) {
    if (tensor.where.block != 0) return find_in_memory(tensor);
    if (const auto known = by_value_.find(tensor.value); tensor.value != 0 && known != by_value_.end())
      return known->second;
    // A view that nobody made while we looked: the operator that wrote the memory.
    if (const auto known = by_content_.find(tensor.content);
        tensor.content != 0 && known != by_content_.end())
      return known->second;
    const Source source{Source::Kind::parameter, add_parameter(tensor), 0};
    if (tensor.value != 0) by_value_.emplace(tensor.value, source);
    return source;
  }

  void add(const GraphTensor& output, Source source, std::span<const GraphTensor> inputs) {
    if (output.where.block != 0) return add_in_memory(output, source, inputs);
    // What has the value already keeps its maker: detach() makes nothing.
    if (output.value != 0) by_value_.try_emplace(output.value, source);
    const bool is_view = std::ranges::any_of(
        inputs, [&](const GraphTensor& input) { return input.content == output.content; });
    if (output.content != 0 && !is_view) by_content_.insert_or_assign(output.content, source);
  }

 private:
  // The operator that made the elements in a part of a block, or a view of them.
  struct Mark {
    const Footprint* where;
    Source source;
    bool is_write;
  };
  struct Block {
    std::vector<Mark> marks;                              // in order of execution
    std::unordered_map<std::uint64_t, std::size_t> last;  // of each view, by Footprint::view

    void add(const Mark& mark) {
      last.insert_or_assign(mark.where->view, marks.size());
      marks.push_back(mark);
    }
    // The last that wrote to any of these elements, or saw them alike since. Null: nobody did.
    const Mark* find(const Footprint& where) const {
      const auto known = last.find(where.view);
      const std::size_t alike = known == last.end() ? 0 : known->second;
      for (std::size_t i = marks.size(); i-- > alike;)
        if ((marks[i].is_write && overlap(*marks[i].where, where)) || marks[i].where->view == where.view)
          return &marks[i];
      return nullptr;
    }
  };

  Source find_in_memory(const GraphTensor& tensor) {
    Block& block = blocks_[tensor.where.block];
    if (const Mark* mark = block.find(tensor.where)) return mark->source;
    const Source source{Source::Kind::parameter, add_parameter(tensor), 0};
    block.add({&tensor.where, source, false});
    return source;
  }

  void add_in_memory(const GraphTensor& output, Source source, std::span<const GraphTensor> inputs) {
    Block& block = blocks_[output.where.block];
    const bool is_view = output.is_view || std::ranges::any_of(inputs, [&](const GraphTensor& input) {
                           return input.where.block == output.where.block && output.content != 0 &&
                                  input.content == output.content;
                         });
    // A view that is there already keeps its maker: detach() makes nothing.
    if (!is_view)
      block.add({&output.where, source, true});
    else if (const Mark* mark = block.find(output.where); !mark || mark->where->view != output.where.view)
      block.add({&output.where, source, false});
  }

  std::uint32_t add_parameter(const GraphTensor& tensor) {
    GraphParameter parameter{.name = {}, .type = tensor.type, .role = tensor.role};
    const auto number = static_cast<std::uint32_t>(graph_.parameters.size());
    if (tensor.role == GraphParameter::Role::constant) {
      parameter.name = "data-" + std::to_string(constants_.size());
      constants_.push_back({parameter.name, tensor.type, tensor.constant});
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
  std::unordered_map<std::uint64_t, Block> blocks_;
};

// What both shapes are: a dimension that differs is -1, and if their number differs nothing is known.
void merge(model::TensorType& known, const model::TensorType& other) {
  if (known.shape.rank() != other.shape.rank()) {
    if (!(known.shape == model::Shape{-2})) known.shape = model::Shape{-2};
    return;
  }
  for (std::size_t axis = 0; axis < known.shape.rank(); ++axis)
    if (known.shape[axis] != other.shape[axis] && known.shape[axis] != -2) known.shape.dims()[axis] = -1;
}

}  // namespace

void GraphRecorder::note(const DefinedOperator& op, std::span<GraphTensor> inputs,
                         std::span<GraphTensor> outputs, std::optional<NodeDetail> detail) {
  const std::lock_guard lock(mutex_);
  if (detail) details_.try_emplace(&op, std::move(*detail));
  key_.hash += mix(reinterpret_cast<std::uintptr_t>(&op));
  if (++key_.count > kMaxCalls) return;
  calls_.push_back(
      {&op, static_cast<std::uint32_t>(inputs.size()), static_cast<std::uint32_t>(outputs.size())});
  for (const auto& side : {inputs, outputs}) std::ranges::move(side, std::back_inserter(tensors_));
}

void GraphRecorder::clear_log() {
  calls_.clear();
  tensors_.clear();
  key_ = {};
}

// Calls `body` with each call of the step, its inputs and its outputs.
template <typename F>
void GraphRecorder::for_each_call(F&& body) {
  std::span<GraphTensor> rest(tensors_);
  for (const LoggedCall& call : calls_) {
    const auto inputs = rest.first(call.input_count);
    const auto outputs = rest.subspan(call.input_count, call.output_count);
    rest = rest.subspan(inputs.size() + outputs.size());
    body(*call.op, inputs, outputs);
  }
}

// Gives the tensors of the step the types that they have in all steps of the graph. True if one of these
// changed.
bool GraphRecorder::compare_types(KnownGraph& graph, bool is_new) {
  bool has_changed = false;
  for_each_call(
      [&](const DefinedOperator& op, std::span<GraphTensor> inputs, std::span<GraphTensor> outputs) {
        auto known = graph.types.find(&op);
        if (known == graph.types.end() && is_new && compared_ < kMaxCompared) {
          Types& types = graph.types[&op];
          for (const auto& side : {inputs, outputs})
            for (const GraphTensor& tensor : side) types.push_back(tensor.type);
          ++compared_;
          return;
        }
        if (known == graph.types.end() || known->second.size() != inputs.size() + outputs.size()) return;
        auto type = known->second.begin();
        for (const auto& side : {inputs, outputs})
          for (GraphTensor& tensor : side) {
            model::TensorType& all = *type++;
            if (all == tensor.type) continue;
            const model::TensorType before = all;
            merge(all, tensor.type);
            has_changed = has_changed || !(before == all);
            tensor.type = all;
          }
      });
  return has_changed;
}

void GraphRecorder::build(EndedStep& ended, std::span<const std::uint64_t> given) {
  model::Graph& graph = ended.graph.emplace();
  graph.id = ended.graph_id;
  graph.nodes.reserve(calls_.size());
  EdgeFinder edges(graph, ended.constants);
  for_each_call([&](const DefinedOperator& op, std::span<const GraphTensor> inputs,
                    std::span<const GraphTensor> outputs) {
    model::Node node;
    node.op = op.op;
    node.op.graph_id = graph.id;
    for (auto frame = op.op.stack.rbegin(); frame != op.op.stack.rend(); ++frame) {
      model::SourceSpan& span = node.source.emplace_back();
      span.file = frame->file;
      span.first_line = span.last_line = frame->line;
    }
    if (const auto known = details_.find(&op); known != details_.end()) {
      node.arguments = known->second.arguments;
      node.bodies = known->second.bodies;
    }
    for (const GraphTensor& input : inputs)
      node.inputs.push_back({input.index, input.type, edges.find(input)});
    const auto number = static_cast<std::uint32_t>(graph.nodes.size());
    for (const GraphTensor& output : outputs) {
      node.outputs.push_back({output.index, output.type});
      edges.add(output, {Source::Kind::node, number, output.index}, inputs);
    }
    graph.nodes.push_back(std::move(node));
  });
  for (const std::uint64_t value : given)
    if (const Source source = edges.find_made(value); source.kind != Source::Kind::unknown)
      graph.outputs.push_back(source);
}

std::optional<GraphRecorder::EndedStep> GraphRecorder::end_step(std::span<const std::uint64_t> outputs) {
  const std::lock_guard lock(mutex_);
  if (key_.count == 0) return std::nullopt;
  EndedStep ended;
  const auto [known, is_new] = known_.try_emplace(key_);
  if (is_new) known->second.id = static_cast<std::int64_t>(known_.size()) - 1;
  expected_ = ended.graph_id = known->second.id;
  ended.is_new = is_new;
  if (is_new && key_.count > kMaxCalls)
    ended.loss = "more than " + std::to_string(kMaxCalls) + " operators in one step";
  else if (is_new && known_.size() > kMaxGraphs)
    ended.loss = "more than " + std::to_string(kMaxGraphs) + " different graphs";
  else if (key_.count <= kMaxCalls && (compare_types(known->second, is_new) || is_new))
    build(ended, outputs);
  clear_log();
  return ended;
}

}  // namespace opdump::capture
