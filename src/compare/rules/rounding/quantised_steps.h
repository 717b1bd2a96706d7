// Which differences are no more than what the steps of a quantised model explain.
#pragma once

#include "compare/rules/rule.h"

namespace opdump::compare {

extern const Rule kQuantisedSteps;

}  // namespace opdump::compare
