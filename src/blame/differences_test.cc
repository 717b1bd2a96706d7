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

TEST(Differences, AnErrorIsAnOperatorsOwnIfItReadsTheSameAndNothingElse) {
  const dump::Slot input = slot_of(model::Side::input), list = slot_of(model::Side::input, "a list"),
                   output = slot_of(model::Side::output);
  math::Metrics rounded;
  rounded.max_abs = 1e-9;
  compare::OperatorComparison op;
  op.verdict = Verdict::own_error;
  op.slots = {SlotComparison{.golden = &input, .actual = &input},
              SlotComparison{.golden = &output, .actual = &output, .verdict = Verdict::own_error}};
  EXPECT_TRUE(has_own_error(op));
  op.slots.front().metrics = rounded;
  EXPECT_FALSE(has_own_error(op));
  op.is_across = true;
  EXPECT_TRUE(has_own_error(op)) << "another framework rounds otherwise";
  op.slots.push_back({.golden = &list, .actual = &list, .verdict = Verdict::skipped});
  EXPECT_FALSE(has_own_error(op)) << "what it reads from a list is not known";
}

}  // namespace
}  // namespace opdump::blame
