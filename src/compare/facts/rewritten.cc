#include "compare/facts/rewritten.h"

#include <string_view>

#include "compare/names.h"
#include "model/operator_traits.h"

namespace opdump::compare {

bool RewrittenModules::contains(const dump::OperatorRun& run) const {
  const Place place = place_of(run);
  return golden_.contains(place) && actual_.contains(place);
}

RewrittenModules::Place RewrittenModules::place_of(const dump::OperatorRun& run) {
  return {run.rank, run.step, std::string(model::without_gradients(module_of(run)))};
}

RewrittenModules find_rewritten(const dump::Runs& golden, const dump::Runs& actual,
                                std::span<const OperatorPair> pairs) {
  RewrittenModules modules;
  const auto computes = [](const dump::Runs& runs, std::uint32_t run) {
    return run != OperatorPair::kNone &&
           !model::has_trait(runs.without_slots(run).type, model::Trait::copies);
  };
  for (const OperatorPair& pair : pairs) {
    if (pair.is_whole()) continue;
    if (computes(golden, pair.golden)) modules.add_golden(golden.without_slots(pair.golden));
    if (computes(actual, pair.actual)) modules.add_actual(actual.without_slots(pair.actual));
  }
  return modules;
}

}  // namespace opdump::compare
