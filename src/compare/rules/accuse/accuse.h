// Which operator is the first bad one. The first accusation is the first difference; each of the others takes
// its place where it explains it.
#pragma once

#include "compare/rules/rule.h"

namespace opdump::compare {

extern const Rule kFirstDifference, kMissingGradient, kOtherDropoutRule, kOtherRepetition, kOtherSize,
    kEndOfPart, kFirstUncertain, kInputOrigin, kUnreadDraw, kFoldedOperator, kWrongRegion, kOtherView,
    kSmallError, kRelation, kWhereValuesPart;

}  // namespace opdump::compare
