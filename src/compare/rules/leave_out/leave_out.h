// Which tensors say nothing of an operator, and why. The first rule that leaves a tensor out gives the
// reason.
#pragma once

#include "compare/rules/rule.h"

namespace opdump::compare {

extern const Rule kOtherRank, kOverwritten, kOtherFramework, kNotLogged, kNotOnAllRanks, kShardLeftOut,
    kOwnRows, kOwnPlaces, kOtherLayout, kOptionalOutput, kOperatorLeftOut, kRewrittenNumber, kAddedInput,
    kSilentDump, kUnfinished, kSameOfOtherInputs, kNeverRead, kOtherRows, kFiltered, kResumedRun;

}  // namespace opdump::compare
