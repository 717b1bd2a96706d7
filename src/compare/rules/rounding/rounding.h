// Which differences are no more than what the rounding of earlier operators grows to.
#pragma once

#include "compare/rules/rule.h"

namespace opdump::compare {

// The others are its reasons.
extern const Rule kRounding, kLostAmongOthers, kOtherChoice, kGrownRounding, kKnownRounding,
    kFollowedRounding, kOtherKernel, kRecomputed, kCancelledTerms, kMatrixUnits, kSameResults;

}  // namespace opdump::compare
