#include "blame/differences.h"

#include <gtest/gtest.h>

namespace opdump::blame {
namespace {

using compare::SlotComparison;
using compare::Verdict;

dump::Slot slot_of(model::Side side, const char* undumped_reason = "") {
  dump::Slot slot;
  slot.side = side;
  if (*undumped_reason == 0) slot.file = "a file";
  slot.undumped_reason = undumped_reason;
  return slot;
}

SlotComparison pair_of(const dump::Slot& slot, Verdict verdict) {
  SlotComparison pair;
  pair.golden = pair.actual = &slot;
  pair.verdict = verdict;
  return pair;
}

TEST(Differences, AnErrorIsAnOperatorsOwnIfItReadsTheSameAndNothingElse) {
  const dump::Slot input = slot_of(model::Side::input), list = slot_of(model::Side::input, "a list"),
                   output = slot_of(model::Side::output);
  math::Metrics rounded;
  rounded.max_abs = 1e-9;
  compare::OperatorComparison op;
  op.verdict = Verdict::own_error;
  op.slots = {pair_of(input, Verdict::match), pair_of(output, Verdict::own_error)};
  EXPECT_TRUE(has_own_error(op));
  op.slots.front().metrics = rounded;
  EXPECT_FALSE(has_own_error(op));
  op.is_across = true;
  EXPECT_TRUE(has_own_error(op)) << "another framework rounds otherwise";
  op.slots.push_back(pair_of(list, Verdict::skipped));
  EXPECT_FALSE(has_own_error(op)) << "what it reads from a list is not known";
}

}  // namespace
}  // namespace opdump::blame
