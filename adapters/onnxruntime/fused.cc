#include "fused.h"

#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace opdump::onnx {
namespace {

using Values = std::unordered_set<std::string_view>;

// Convolutions in ONNX Runtime's blocked layout lose the names of their values; their own is that of the
// value they would have made, with "_nchwc" and perhaps a number behind it.
std::string_view value_of_name(const ModelFile& original, const Node& node) {
  const std::string_view name = std::string_view(node.name).substr(0, node.name.rfind("_nchwc"));
  return name.size() < node.name.size() && original.producers.contains(name) ? name : std::string_view();
}

// What only moves data between layouts stands for nothing.
bool is_reordering(const Node& node) { return node.type == "ReorderInput" || node.type == "ReorderOutput"; }

// The values of the original that `node` makes.
std::vector<std::string_view> made_values(const ModelFile& original, const Node& node) {
  std::vector<std::string_view> made;
  if (is_reordering(node)) return made;
  for (const std::string_view output : node.outputs)
    if (original.producers.contains(output)) made.push_back(output);
  if (const std::string_view value = value_of_name(original, node); made.empty() && !value.empty())
    made.push_back(value);
  return made;
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
  std::unordered_map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < original.nodes.size(); ++i) by_name.emplace(original.nodes[i].name, i);
  Values kept;
  for (const Node& node : optimized.nodes)
    for (const std::string_view value : made_values(original, node)) kept.insert(value);
  std::vector<std::vector<std::string>> names(optimized.nodes.size());
  for (std::size_t i = 0; i < optimized.nodes.size(); ++i) {
    std::set<std::size_t> found;
    for (const std::string_view value : made_values(original, optimized.nodes[i]))
      collect(original, kept, value, found);
    if (const auto same = by_name.find(optimized.nodes[i].name); found.empty() && same != by_name.end())
      found.insert(same->second);
    for (const std::size_t index : found)
      if (!is_no_task(original.nodes[index])) names[i].push_back(original.nodes[index].name);
  }
  return names;
}

}  // namespace opdump::onnx
