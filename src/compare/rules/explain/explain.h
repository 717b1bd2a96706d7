// Why the outputs of an operator differ, besides its inputs.
#pragma once

#include "compare/rules/rule.h"

namespace opdump::compare {

extern const Rule kOtherArgument, kTermsOfASum, kFedByOtherRank, kOtherState, kWeakPair, kPairByPlace;

}  // namespace opdump::compare
