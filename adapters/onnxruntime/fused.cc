#include "fused.h"

#include <algorithm>
#include <array>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "fields.h"

namespace opdump::onnx {
namespace {

using Values = std::unordered_set<std::string_view>;

// Convolutions in ONNX Runtime's blocked layout lose the names of their values; their own is that of the
// value they would have made, with "_nchwc" and perhaps a number behind it.
std::string_view value_of_name(const ModelFile& original, const Node& node) {
  const std::string_view name = std::string_view(node.name).substr(0, node.name.rfind("_nchwc"));
  return name.size() < node.name.size() && original.producers.contains(name) ? name : std::string_view();
}

using Names = std::unordered_map<std::string_view, std::size_t>;

// The value that the operator of the file with the name and the type of `node` makes; empty if there is none.
// A quantised convolution that gets its channels last is another operator, with "_token_" and a number behind
// the name.
std::string_view value_of_same(const ModelFile& original, const Names& by_name, const Node& node) {
  const std::string_view name = node.name;
  auto same = by_name.find(name);
  if (same == by_name.end()) same = by_name.find(name.substr(0, name.rfind("_token_")));
  if (same == by_name.end() || original.nodes[same->second].type != node.type) return {};
  const std::vector<std::string_view>& outputs = original.nodes[same->second].outputs;
  return outputs.empty() ? std::string_view() : outputs.front();
}

// What only moves data between layouts stands for nothing.
bool is_reordering(const Node& node) { return node.type == "ReorderInput" || node.type == "ReorderOutput"; }

bool has_attribute(const Node& node, std::string_view name) {
  for (protozero::pbf_reader message(node.message.data(), node.message.size()); message.next();) {
    if (message.tag() != 5) {
      message.skip();
      continue;
    }
    protozero::pbf_reader attribute = message_of(message);
    if (attribute.next(1) && text_of(attribute) == name) return true;
  }
  return false;
}

// The value that the operator of one of these types makes of `value`; `value` if there is none.
std::string_view follow(const ModelFile& original, std::string_view value,
                        std::span<const std::string_view> types) {
  for (const Node& node : original.nodes)
    if (std::ranges::find(types, node.type) != types.end() &&
        std::ranges::find(node.inputs, value) != node.inputs.end() && !node.outputs.empty())
      return node.outputs.front();
  return value;
}

// The values of the original that `node` makes. A blocked convolution that adds (its fourth input) or
// activates bears the name of the convolution, and makes what comes behind it.
std::vector<std::string_view> made_values(const ModelFile& original, const Names& by_name, const Node& node) {
  constexpr std::array<std::string_view, 1> kSum{"Add"};
  constexpr std::array<std::string_view, 5> kActivations{"Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip"};
  std::vector<std::string_view> made;
  if (is_reordering(node)) return made;
  for (const std::string_view output : node.outputs)
    if (original.producers.contains(output)) made.push_back(output);
  if (!made.empty()) return made;
  if (const std::string_view value = value_of_same(original, by_name, node); !value.empty()) return {value};
  std::string_view value = value_of_name(original, node);
  if (value.empty()) return made;
  if (node.inputs.size() > 3 && !node.inputs[3].empty()) value = follow(original, value, kSum);
  if (has_attribute(node, "activation")) value = follow(original, value, kActivations);
  return {value};
}

// For each operator whether it only makes constants of constants.
std::vector<bool> find_constants(const ModelFile& model) {
  std::vector<bool> is_constant(model.nodes.size());
  for (std::size_t i = 0; i < model.nodes.size(); ++i)
    is_constant[i] =
        model.nodes[i].captured.empty() && std::ranges::all_of(model.nodes[i].inputs, [&](auto name) {
          const auto producer = model.producers.find(name);
          return name.empty() || model.initializer_of.contains(name) ||
                 (producer != model.producers.end() && is_constant[producer->second]);
        });
  return is_constant;
}

// The operators that make `value` out of values that the optimized graph still makes.
void collect(const ModelFile& original, const Values& kept, std::string_view value,
             std::set<std::size_t>& found) {
  std::vector<std::string_view> open{value};
  while (!open.empty()) {
    const auto producer = original.producers.find(open.back());
    open.pop_back();
    if (producer == original.producers.end() || !found.insert(producer->second).second) continue;
    for (const std::string_view input : original.nodes[producer->second].inputs)
      if (!kept.contains(input)) open.push_back(input);
  }
}

}  // namespace

std::vector<std::vector<std::string>> find_original_names(const ModelFile& original,
                                                          const ModelFile& optimized) {
  Names by_name;
  for (std::size_t i = 0; i < original.nodes.size(); ++i) by_name.emplace(original.nodes[i].name, i);
  Values kept, made_by_same;
  for (const Node& node : optimized.nodes) {
    for (const std::string_view value : made_values(original, by_name, node)) kept.insert(value);
    made_by_same.insert(value_of_same(original, by_name, node));
  }
  const std::vector<bool> is_constant = find_constants(original);
  std::vector<std::vector<std::string>> names(optimized.nodes.size());
  for (std::size_t i = 0; i < optimized.nodes.size(); ++i) {
    const Node& node = optimized.nodes[i];
    std::set<std::size_t> found;
    for (const std::string_view value : made_values(original, by_name, node)) {
      // A transposition that was put in, or moved behind an operator, has the name of what that one made.
      const bool is_moved = node.type == "Transpose" && !by_name.contains(node.name);
      if (!is_moved || !made_by_same.contains(value)) collect(original, kept, value, found);
    }
    if (const auto same = by_name.find(node.name); found.empty() && same != by_name.end())
      found.insert(same->second);
    for (const std::size_t index : found)
      if (!is_constant[index]) names[i].push_back(original.nodes[index].name);
  }
  return names;
}

}  // namespace opdump::onnx
