// Other ways to write the same program: what only one run has, or reads otherwise, and what follows agrees.
#pragma once

#include "compare/rules/rule.h"

namespace opdump::compare {

extern const Rule kScaledGradients, kOtherWay, kOtherInside, kLoosePairs, kResultsElsewhere,
    kLackingStatistics;

}  // namespace opdump::compare
