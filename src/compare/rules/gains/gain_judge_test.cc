#include "compare/rules/gains/gain_judge.h"

#include "compare/rules/ledger.h"

#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "compare/rules/gains/usual_gains.h"

namespace opdump::compare {
namespace {

// Operators of both runs with one output, a tensor of root mean square 2, which is off by `relative`.
class GainJudgeTest : public testing::Test {
 protected:
  OperatorComparison make(double relative, Verdict verdict, model::DType dtype = model::DType::float32) {
    dump::OperatorRun run;
    run.type = "mm";
    run.rank = rank_;
    OperatorComparison op;
    op.golden = op.actual = std::make_shared<dump::OperatorRun>(run);
    op.verdict = verdict;
    dump::Slot& slot = slots_.emplace_back();
    slot.side = model::Side::output;
    slot.dtype = dtype;
    SlotComparison& output = op.slots.emplace_back();
    output.golden = output.actual = &slot;
    output.dtype = dtype;
    output.verdict = verdict;
    output.metrics.emplace();
    output.metrics->relative_l2 = relative;
    output.metrics->rmse = output.metrics->max_abs = 2 * relative;
    output.metrics->count = 64;
    return op;
  }
  Verdict judge(GainJudge& judge, OperatorComparison op) {
    judge.judge(op);
    EXPECT_EQ(op.slots[0].verdict, op.verdict);
    return op.verdict;
  }
  Verdict judge(GainJudge& of, double relative) { return judge(of, make(relative, Verdict::own_error)); }

  std::deque<dump::Slot> slots_;
  std::uint32_t rank_ = 0;
  GainJudge judge_{false};
};

TEST_F(GainJudgeTest, WhatGrowsAsUsualIsRoundingUntilAnOperatorIsBad) {
  EXPECT_EQ(judge(judge_, make(0x1p-23, Verdict::match)), Verdict::match);
  EXPECT_EQ(judge(judge_, 0x1p-21), Verdict::rounding);
  EXPECT_EQ(judge(judge_, 0x1p-3), Verdict::own_error);
  EXPECT_EQ(judge(judge_, 0x1p-3), Verdict::inherited) << "it hands on what the one before made";
  EXPECT_EQ(judge(judge_, make(0x1p-3, Verdict::inherited)), Verdict::inherited);
  rank_ = 1;
  EXPECT_EQ(judge(judge_, 0x1p-21), Verdict::rounding);
}

TEST_F(GainJudgeTest, RunsThatAreAlikeShouldBeTheSame) {
  GainJudge alike(true);
  EXPECT_EQ(judge(alike, 0x1p-21), Verdict::own_error);
  EXPECT_EQ(judge(alike, 0x1p-21), Verdict::inherited);
  GainJudge other(true);
  OperatorComparison op = make(0x1p-21, Verdict::own_error);
  dump::Slot half;
  half.side = model::Side::output;
  half.dtype = model::DType::bfloat16;
  op.slots[0].actual = &half;
  EXPECT_EQ(judge(other, op), Verdict::rounding) << "the types round otherwise";
}

TEST_F(GainJudgeTest, OnlyDifferencesWithoutAReasonAreRounding) {
  OperatorComparison argument = make(0x1p-21, Verdict::argument_differs);
  argument.cause = "eps is 1e-05 in golden and 0.001 in actual";
  EXPECT_EQ(judge(judge_, argument), Verdict::argument_differs);
  EXPECT_EQ(judge(judge_, 0x1p-21), Verdict::inherited);
  GainJudge other(false);
  EXPECT_EQ(judge(other, make(0, Verdict::not_comparable)), Verdict::not_comparable);
  OperatorComparison nan = make(0x1p-21, Verdict::own_error);
  nan.slots[0].metrics->nan_mismatch_count = 1;
  EXPECT_EQ(judge(other, nan), Verdict::own_error);
}

TEST_F(GainJudgeTest, MasksDifferByWhatTheyAreMadeOf) {
  EXPECT_EQ(judge(judge_, make(0.1, Verdict::own_error, model::DType::boolean)), Verdict::own_error);
  GainJudge other(false);
  judge(other, make(0x1p-23, Verdict::match));
  EXPECT_EQ(judge(other, make(0.1, Verdict::own_error, model::DType::boolean)), Verdict::rounding);
}

TEST_F(GainJudgeTest, WithStatisticsTheFirstOneHasALowerLimit) {
  const auto make_read = [&](double read, double made, Verdict verdict) {
    OperatorComparison op = make(made, verdict);
    dump::OperatorRun run;
    run.type = "mm";
    op.golden = op.actual = std::make_shared<dump::OperatorRun>(run);
    op.slots.push_back(make(read, Verdict::match).slots[0]);
    op.slots.front().from_statistics = op.slots.back().from_statistics = true;
    for (SlotComparison& slot : op.slots) {
      const double relative = slot.metrics->relative_l2;
      slot.metrics.reset();
      dump::Slot* sides[] = {&slots_.emplace_back(*slot.golden), &slots_.emplace_back(*slot.golden)};
      sides[0]->statistics = dump::SlotStatistics::Columns{{"L2Norm Value", "10"}};
      sides[1]->statistics =
          dump::SlotStatistics::Columns{{"L2Norm Value", std::to_string(10 * (1 + relative))}};
      if (&slot == &op.slots.back()) sides[0]->side = sides[1]->side = model::Side::input;
      slot.golden = sides[0];
      slot.actual = sides[1];
    }
    return op;
  };
  Gain gain{GainOf::statistics, model::DType::float32, 0, 1, 1, "output.0"};
  const double limit = 1 / usual_gains().excess("mm", gain);  // of 1e-5, by which the inputs differ
  const auto judge_first = [&](double times) {
    GainJudge first(false);
    OperatorComparison op = make_read(1e-5, times * limit * 1e-5, Verdict::own_error);
    first.judge(op);
    return op.verdict;
  };
  EXPECT_EQ(judge_first(0.1), Verdict::rounding);
  EXPECT_EQ(judge_first(0.5), Verdict::own_error);
  GainJudge later(false);
  OperatorComparison before = make_read(1e-5, 0.1 * limit * 1e-5, Verdict::own_error);
  later.judge(before);
  OperatorComparison op = make_read(1e-5, 0.5 * limit * 1e-5, Verdict::own_error);
  later.judge(op);
  EXPECT_EQ(op.verdict, Verdict::rounding) << "there was rounding to enlarge";
}

TEST_F(GainJudgeTest, VerdictsCanBeUndone) {
  OperatorComparison op = make(0x1p-21, Verdict::own_error);
  judge_.judge(op);
  ASSERT_EQ(op.verdict, Verdict::rounding);
  const OperatorComparison before = as_measured(op);
  EXPECT_EQ(before.verdict, Verdict::own_error);
  EXPECT_EQ(before.slots[0].verdict, Verdict::own_error);
  EXPECT_EQ(as_measured(before).verdict, Verdict::own_error);
}

TEST(UsualGains, AreThoseOfTheFile) {
  for (const GainOf of : {GainOf::outputs, GainOf::statistics, GainOf::data}) {
    const Gain gain{of, model::DType::float32, 0, 1e6, 1e6, "output.0"};
    EXPECT_GT(usual_gains().excess("mm", gain), 1) << static_cast<int>(of);
    EXPECT_LT(usual_gains().excess("mm", {of, model::DType::float32, 0, 1, 1, ""}), 1);
  }
}

}  // namespace
}  // namespace opdump::compare
