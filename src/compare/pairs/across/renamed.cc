#include "compare/pairs/across/renamed.h"

#include <algorithm>
#include <string_view>

#include "compare/facts/operator_kind.h"
#include "compare/names.h"

namespace opdump::compare {
namespace {

constexpr std::uint64_t kFewest = 3;  // operators that say something of a network
constexpr double kRenamed = 1. / 3, kExplained = 0.5;

bool computes_in_module(const dump::Runs& runs, std::uint32_t execution) {
  if (execution == OperatorPair::kNone) return false;
  constexpr std::string_view kRoot = "Default/";
  const dump::OperatorRun run = runs.without_slots(execution);
  const std::string& name = operator_name(run);
  return phase_of(run) == model::Phase::forward && kind_of(run.type).role == OperatorRole::computes &&
         name.starts_with(kRoot) && name.rfind('/') >= kRoot.size();
}

std::uint64_t fewer(const ForwardPairs& pairs) { return std::min(pairs.golden, pairs.actual); }

}  // namespace

ForwardPairs count_forward_pairs(const dump::Runs& golden, const dump::Runs& actual,
                                 std::span<const OperatorPair> pairs) {
  ForwardPairs count;
  for (const OperatorPair& pair : pairs) {
    const bool in_golden = computes_in_module(golden, pair.golden),
               in_actual = computes_in_module(actual, pair.actual);
    count.golden += in_golden;
    count.actual += in_actual;
    count.paired += in_golden && in_actual;
  }
  return count;
}

bool are_renamed(const ForwardPairs& by_name) {
  return fewer(by_name) >= kFewest &&
         static_cast<double>(by_name.paired) < kRenamed * static_cast<double>(fewer(by_name));
}

bool is_better(const ForwardPairs& by_what_they_compute, const ForwardPairs& by_name) {
  const auto all = static_cast<double>(fewer(by_name));
  return static_cast<double>(by_what_they_compute.paired) >= kExplained * all &&
         by_what_they_compute.paired >= 2 * by_name.paired;
}

}  // namespace opdump::compare
