#include "compare/rules/rewritten.h"

#include <string_view>

#include "compare/names.h"

namespace opdump::compare {

bool RewrittenModules::contains(const dump::OperatorRun& run) const {
  const Place place = place_of(run);
  return golden_.contains(place) && actual_.contains(place);
}

RewrittenModules::Place RewrittenModules::place_of(const dump::OperatorRun& run) {
  return {run.rank, run.step, std::string(model::without_gradients(module_of(run)))};
}

}  // namespace opdump::compare
