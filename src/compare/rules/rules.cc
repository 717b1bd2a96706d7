#include <algorithm>
#include <iterator>

#include "compare/rules/accuse/accuse.h"
#include "compare/rules/explain/explain.h"
#include "compare/rules/gains/usual.h"
#include "compare/rules/leave_out/leave_out.h"
#include "compare/rules/rounding/masked_numbers.h"
#include "compare/rules/rounding/quantised_steps.h"
#include "compare/rules/rounding/rounding.h"
#include "compare/rules/rule.h"
#include "compare/rules/same/same.h"

namespace opdump::compare {

std::span<const Rule* const> rules() {
  static constexpr const Rule* kRules[] = {
      // Which tensors count. The first rule that leaves one out gives the reason.
      &kOtherRank, &kOverwritten, &kOtherRows, &kFiltered, &kResumedRun, &kOtherFramework, &kNotLogged,
      &kNotOnAllRanks, &kShardLeftOut, &kOwnRows, &kOwnPlaces, &kOtherLayout, &kOptionalOutput,
      &kOperatorLeftOut, &kRewrittenNumber, &kAddedInput, &kSilentDump, &kUnfinished, &kSameOfOtherInputs,
      &kNeverRead,
      // The operator has a verdict by its tensors here. A cause rules out that rounding explains them.
      &kOtherArgument,
      // The first reason that excuses an operator settles it.
      &kRounding, &kSameResults, &kLostAmongOthers, &kOtherChoice, &kGrownRounding, &kKnownRounding,
      &kFollowedRounding, &kOtherKernel, &kRecomputed, &kCancelledTerms, &kMatrixUnits, &kQuantisedSteps,
      &kUsualGains, &kMaskedNumbers, &kScaledGradients,
      // Why outputs differ that are still bad.
      &kTermsOfASum, &kFedByOtherRank, &kOtherState, &kWeakPair, &kPairByPlace,
      // After the last operator: what the bad ones mean together.
      &kOtherWay, &kOtherInside, &kLoosePairs, &kResultsElsewhere, &kLackingStatistics,
      // The first accusation is the first difference; the others may take its place.
      &kFirstDifference, &kSingleBeforeGrowth, &kMissingGradient, &kOtherDropoutRule, &kOtherRepetition,
      &kOtherSize, &kEndOfPart, &kFirstUncertain, &kInputOrigin, &kUnreadDraw, &kFoldedOperator,
      &kWrongRegion, &kWhereValuesPart, &kOtherView, &kRelation, &kSmallError};
  return kRules;
}

const Rule* find_rule(std::string_view name) {
  const auto found = std::ranges::find(rules(), name, [](const Rule* rule) { return rule->name; });
  return found == rules().end() ? nullptr : *found;
}

}  // namespace opdump::compare
