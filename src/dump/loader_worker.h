// Which process of a data loader an operator ran in.
#pragma once

#include <string_view>

namespace opdump::dump {

// "worker0" of "Default/worker0/std-op0" and of "Default_worker0_std-op0", as file names have it; empty if
// the operator ran in no such process.
inline std::string_view loader_worker(std::string_view name) {
  constexpr std::string_view kScope = "Default/", kWorker = "worker";
  if (!name.starts_with("Default/worker") && !name.starts_with("Default_worker")) return {};
  name.remove_prefix(kScope.size());
  const std::size_t end = name.find_first_not_of("0123456789_", kWorker.size());
  if (end == std::string_view::npos || end == kWorker.size() || name[kWorker.size()] == '_') return {};
  if (name[end] == '/') return name.substr(0, end);
  return name[end - 1] == '_' ? name.substr(0, end - 1) : std::string_view();
}

}  // namespace opdump::dump
