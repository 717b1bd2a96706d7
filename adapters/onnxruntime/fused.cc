#include "fused.h"

#include <set>
#include <string_view>
#include <unordered_map>

namespace opdump::onnx {
namespace {

// The operators that make `value` out of values that the optimized graph still has.
void collect(const ModelFile& original, const ModelFile& optimized, std::string_view value,
             std::set<std::size_t>& found) {
  std::vector<std::string_view> open{value};
  while (!open.empty()) {
    const auto producer = original.producers.find(open.back());
    open.pop_back();
    if (producer == original.producers.end() || !found.insert(producer->second).second) continue;
    for (const std::string_view input : original.nodes[producer->second].inputs)
      if (!optimized.producers.contains(input)) open.push_back(input);
  }
}

}  // namespace

std::vector<std::vector<std::string>> find_original_names(const ModelFile& original,
                                                          const ModelFile& optimized) {
  std::unordered_map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < original.nodes.size(); ++i) by_name.emplace(original.nodes[i].name, i);
  std::vector<std::vector<std::string>> names(optimized.nodes.size());
  for (std::size_t i = 0; i < optimized.nodes.size(); ++i) {
    std::set<std::size_t> found;
    for (const std::string_view output : optimized.nodes[i].outputs)
      if (!output.empty()) collect(original, optimized, output, found);
    if (const auto same = by_name.find(optimized.nodes[i].name); found.empty() && same != by_name.end())
      found.insert(same->second);
    for (const std::size_t index : found)
      if (!is_no_task(original.nodes[index])) names[i].push_back(original.nodes[index].name);
  }
  return names;
}

}  // namespace opdump::onnx
