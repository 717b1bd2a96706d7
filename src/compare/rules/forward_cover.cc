#include "compare/rules/forward_cover.h"

#include <algorithm>
#include <cstddef>

#include "compare/facts/operator_kind.h"
#include "compare/names.h"

namespace opdump::compare {

void ForwardCover::add(const OperatorComparison& op) {
  const dump::OperatorRun& run = op.run();
  const bool is_single = op.golden == nullptr || op.actual == nullptr;
  if (phase_of(run) != model::Phase::forward) return;
  if (kind_of(run.type).role != OperatorRole::computes) return;
  const std::string& name = operator_name(run);
  // Engines name what they make of a model's operators as they like: only names of programs have modules.
  // What is in no module, data and losses, proves nothing of the model.
  constexpr std::string_view kRoot = "Default/";
  const std::size_t end = name.rfind('/');
  if (!name.starts_with(kRoot) || end < kRoot.size()) return;
  const std::string_view module = std::string_view(name).substr(0, end);
  auto found = modules_.find(module);
  if (found == modules_.end()) found = modules_.emplace(module, Counts()).first;
  Counts& counts = found->second;
  counts.golden += op.golden != nullptr;
  counts.actual += op.actual != nullptr;
  counts.is_covered |= !is_single;
}

double ForwardCover::share() const {
  Counts all, covered;
  for (const auto& [module, counts] : modules_)
    for (Counts* const sum : {&all, &covered}) {
      if (sum == &covered && !counts.is_covered) continue;
      sum->golden += counts.golden;
      sum->actual += counts.actual;
    }
  const auto share_of = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  return std::min(is_golden_covered_ ? 1.0 : share_of(covered.golden, all.golden),
                  is_actual_covered_ ? 1.0 : share_of(covered.actual, all.actual));
}

}  // namespace opdump::compare
