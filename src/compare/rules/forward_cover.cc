#include "compare/rules/forward_cover.h"

#include <algorithm>
#include <cstddef>
#include <unordered_set>

#include "compare/facts/operator_kind.h"
#include "compare/names.h"

namespace opdump::compare {

void ForwardCover::OfRun::add(const dump::OperatorRun& run, bool is_paired) {
  if (phase_of(run) != model::Phase::forward) return;
  if (kind_of(run.type).role != OperatorRole::computes) return;
  const std::string& name = operator_name(run);
  // Engines name what they make of a model's operators as they like: only names of programs have modules.
  // What is in no module, data and losses, proves nothing of the model.
  constexpr std::string_view kRoot = "Default/";
  const std::size_t end = name.rfind('/');
  if (!name.starts_with(kRoot) || end < kRoot.size()) return;
  const std::string_view path = std::string_view(name).substr(0, end);
  auto found = modules.find(path);
  if (found == modules.end()) found = modules.emplace(path, Module()).first;
  ++found->second.operators;
  found->second.is_covered |= is_paired;
}

double ForwardCover::OfRun::share() const {
  std::unordered_set<std::string_view> of_covered;  // covered modules, and those that have them inside
  for (const auto& [path, module] : modules)
    for (std::string_view outer = path; module.is_covered && of_covered.insert(outer).second;)
      outer = outer.substr(0, std::min(outer.rfind('/'), outer.size()));
  std::uint64_t all = 0, covered = 0;
  for (const auto& [path, module] : modules) {
    all += module.operators;
    if (of_covered.contains(path)) covered += module.operators;
  }
  return is_covered || all == 0 ? 1 : static_cast<double>(covered) / static_cast<double>(all);
}

void ForwardCover::add(const OperatorComparison& op) {
  const bool is_paired = op.golden != nullptr && op.actual != nullptr;
  if (op.golden != nullptr) golden_.add(*op.golden, is_paired);
  if (op.actual != nullptr) actual_.add(*op.actual, is_paired);
}

double ForwardCover::share() const { return std::min(golden_.share(), actual_.share()); }

}  // namespace opdump::compare
