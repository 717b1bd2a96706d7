#include "compare/pairs/across/module_paths.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

namespace opdump::compare {
namespace {

// What runs backward is in a scope of its own: "Default.layer1".
constexpr std::string_view kBackward = "Default.";

// "pool" of "pool_1", the second call of a module in an export.
std::string without_call(const std::string& path) {
  const std::size_t end = path.find_last_not_of("0123456789");
  const bool has_number = end != std::string::npos && end + 1 < path.size() && path[end] == '_' && end > 0;
  return has_number ? path.substr(0, end) : path;
}

std::size_t count_common(const std::set<std::string>& a, const std::set<std::string>& b) {
  return static_cast<std::size_t>(
      std::ranges::count_if(a, [&](const std::string& path) { return b.contains(path); }));
}

// "layer1" of "network.net.layer1" in "network.net", and "" of what is around that scope.
std::string within(const std::string& path, const std::string& scope) {
  const bool is_backward = path.starts_with(kBackward);
  const std::string module = is_backward ? path.substr(kBackward.size()) : path;
  std::string rest = is_in(scope, module)   ? ""
                     : is_in(module, scope) ? module.substr(scope.size() + 1)
                                            : module;
  if (!is_backward) return rest;
  return rest.empty() ? std::string(kBackward.substr(0, kBackward.size() - 1))
                      : std::string(kBackward) + rest;
}

// Scopes that hold at least half of the paths, outer ones first.
std::vector<std::string> wide_scopes(const std::set<std::string>& paths) {
  std::map<std::string, std::size_t> counts;
  std::set<std::string> modules;
  for (const std::string& path : paths)
    modules.insert(path.starts_with(kBackward) ? path.substr(kBackward.size()) : path);
  for (const std::string& path : modules)
    for (std::size_t end = path.find('.'); end != std::string::npos; end = path.find('.', end + 1))
      ++counts[path.substr(0, end)];
  std::vector<std::string> scopes;
  for (const auto& [scope, count] : counts)
    if (2 * count >= modules.size()) scopes.push_back(scope);
  return scopes;
}

// A program often has its network in a module of its own, and that in one with the loss: "network.net.layer1"
// is "layer1" in an export.
void drop_common_scope(DataFlow& flow, const DataFlow& other) {
  const std::set<std::string> mine = paths_of(flow), others = paths_of(other);
  std::string best;
  std::size_t most = count_common(mine, others);
  for (const std::string& scope : wide_scopes(mine)) {
    std::set<std::string> shorter;
    for (const std::string& path : mine) shorter.insert(within(path, scope));
    if (const std::size_t common = count_common(shorter, others); common > most) {
      most = common;
      best = scope;
    }
  }
  if (best.empty()) return;
  for (FlowNode& node : flow.nodes()) {
    node.path = within(node.path, best);
    node.last_path = within(node.last_path, best);
  }
}

// An export may name a convolution with a folded normalisation after either of the two.
void choose_paths(DataFlow& flow, const DataFlow& other) {
  const std::set<std::string> others = paths_of(other);
  for (FlowNode& node : flow.nodes())
    if (!others.contains(node.path) && others.contains(node.last_path)) node.path = node.last_path;
}

// What an export calls the second call of a module is that module.
void drop_call_numbers(DataFlow& flow, const DataFlow& other) {
  const std::set<std::string> others = paths_of(other);
  for (FlowNode& node : flow.nodes())
    if (!others.contains(node.path) && others.contains(without_call(node.path)))
      node.path = without_call(node.path);
}

}  // namespace

bool is_in(const std::string& path, const std::string& scope) {
  return path.starts_with(scope) && (path.size() == scope.size() || path[scope.size()] == '.');
}

std::set<std::string> paths_of(const DataFlow& flow) {
  std::set<std::string> paths;
  for (const FlowNode& node : flow.nodes())
    if (node.can_pair() && !node.path.empty()) paths.insert(node.path);
  return paths;
}

void align_paths(DataFlow& golden, DataFlow& actual) {
  drop_common_scope(golden, actual);
  drop_common_scope(actual, golden);
  choose_paths(golden, actual);
  choose_paths(actual, golden);
  drop_call_numbers(golden, actual);
  drop_call_numbers(actual, golden);
}

}  // namespace opdump::compare
