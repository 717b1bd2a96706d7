#include "compare/runs/rewritten.h"

#include <string_view>

#include "compare/names.h"

namespace opdump::compare {

bool RewrittenModules::contains(const dump::OperatorRun& run) const {
  const Place place = place_of(run);
  return golden_.contains(place) && actual_.contains(place);
}

RewrittenModules::Place RewrittenModules::place_of(const dump::OperatorRun& run) {
  constexpr std::string_view kGradients = "Gradients/";  // before the module, in its backward pass
  std::string module = module_of(run);
  if (module.starts_with(kGradients)) module.erase(0, kGradients.size());
  return {run.rank, run.step, module};
}

}  // namespace opdump::compare
