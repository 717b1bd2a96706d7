#include "compare/verdict.h"

#include <gtest/gtest.h>

#include <deque>

namespace opdump::compare {
namespace {

// Keeps the slots and runs that comparisons point to.
struct Fixture {
  std::deque<dump::Slot> slots;
  std::deque<dump::OperatorRun> runs;

  // `verdicts`: one letter per slot, inputs first, then '>', then outputs: "..>x" is an own error.
  // . match  x differs  s shape  ? unreadable  - missing  + extra  _ skipped
  OperatorComparison make(std::string_view verdicts, std::int64_t step = 0, std::uint32_t rank = 0) {
    OperatorComparison op;
    runs.emplace_back();
    runs.back().step = step;
    runs.back().rank = rank;
    op.golden = op.actual = &runs.back();
    model::Side side = model::Side::input;
    for (const char c : verdicts) {
      if (c == '>') {
        side = model::Side::output;
        continue;
      }
      slots.emplace_back();
      slots.back().side = side;
      SlotComparison slot;
      slot.golden = c == '+' ? nullptr : &slots.back();
      slot.actual = c == '-' ? nullptr : &slots.back();
      slot.verdict = c == '.'   ? Verdict::match
                     : c == 'x' ? Verdict::own_error
                     : c == 's' ? Verdict::not_comparable
                     : c == '?' ? Verdict::unreadable
                     : c == '-' ? Verdict::missing
                     : c == '+' ? Verdict::extra
                                : Verdict::skipped;
      if (c == '.' || c == 'x') slot.metrics.emplace();
      op.slots.push_back(slot);
    }
    return op;
  }

  Verdict verdict(std::string_view verdicts, const Unfinished& unfinished = {}) {
    OperatorComparison op = make(verdicts);
    judge_operator(op, unfinished);
    return op.verdict;
  }

  Comparison judge(std::vector<OperatorComparison> operators, const Unfinished& unfinished = {}) {
    Comparison comparison;
    comparison.operators = std::move(operators);
    for (OperatorComparison& op : comparison.operators) judge_operator(op, unfinished);
    judge_dumps(comparison, unfinished);
    return comparison;
  }

  OperatorComparison only_golden(std::int64_t step = 0) {
    OperatorComparison op = make(">-", step);
    op.actual = nullptr;
    return op;
  }
};

TEST(Verdict, Operators) {
  Fixture f;
  EXPECT_EQ(f.verdict("..>."), Verdict::match);
  EXPECT_EQ(f.verdict("..>x"), Verdict::own_error);
  EXPECT_EQ(f.verdict(">x"), Verdict::own_error);
  EXPECT_EQ(f.verdict("?_>x"), Verdict::own_error);
  EXPECT_EQ(f.verdict(".x>x"), Verdict::inherited);
  EXPECT_EQ(f.verdict("s>x"), Verdict::inherited);
  EXPECT_EQ(f.verdict(".>s"), Verdict::own_error);
  EXPECT_EQ(f.verdict("x>."), Verdict::input_differs);
  EXPECT_EQ(f.verdict("x>?"), Verdict::input_differs);
  EXPECT_EQ(f.verdict(".>?"), Verdict::unreadable);
  EXPECT_EQ(f.verdict("?>."), Verdict::unreadable);
  EXPECT_EQ(f.verdict(".>.-"), Verdict::not_comparable);
  EXPECT_EQ(f.verdict(".>.+"), Verdict::not_comparable);
  EXPECT_EQ(f.verdict(".->."), Verdict::unreadable);
  EXPECT_EQ(f.verdict("._>."), Verdict::match);
  EXPECT_EQ(f.verdict("_>_"), Verdict::skipped);
}

TEST(Verdict, SlotsTellInputsFromOutputs) {
  Fixture f;
  OperatorComparison op = f.make(".x>xs");
  judge_operator(op, {});
  EXPECT_EQ(op.slots[0].verdict, Verdict::match);
  EXPECT_EQ(op.slots[1].verdict, Verdict::input_differs);
  EXPECT_EQ(op.slots[2].verdict, Verdict::inherited);
  EXPECT_EQ(op.slots[3].verdict, Verdict::not_comparable);
}

TEST(Verdict, WhatAnUnfinishedRecordingLacksIsNoDifference) {
  Fixture f;
  EXPECT_EQ(f.verdict(".>.-", {{}, {0}}), Verdict::unreadable);
  EXPECT_EQ(f.verdict(".>.-", {{0}, {}}), Verdict::not_comparable);
  EXPECT_EQ(f.verdict(".>.+", {{0}, {}}), Verdict::unreadable);

  auto comparison = f.judge({f.make(".>."), f.only_golden()}, {{}, {0}});
  EXPECT_EQ(comparison.first_bad, std::nullopt);
  comparison = f.judge({f.make(".>."), f.only_golden()}, {});
  EXPECT_EQ(comparison.first_bad, 1u);
  EXPECT_EQ(comparison.outcome, Outcome::differs);
}

TEST(Verdict, ASilentDumpCannotSayThatATensorHasNoData) {
  Fixture f;
  const model::Operator op;
  dump::Slot undumped, dumped;
  dumped.file = "x.npy";
  dump::OperatorRun run;
  run.op = &op;
  OperatorComparison comparison;
  comparison.golden = &run;
  comparison.slots.resize(1);
  comparison.slots[0].verdict = Verdict::missing;
  const auto judged = [&](const dump::Slot& slot, bool is_silent) {
    OperatorComparison copy = comparison;
    copy.slots[0].golden = &slot;
    Unfinished unfinished;
    unfinished.actual_is_silent = is_silent;
    judge_operator(copy, unfinished);
    return copy.verdict;
  };
  EXPECT_EQ(judged(undumped, true), Verdict::skipped);
  EXPECT_EQ(judged(undumped, false), Verdict::missing);
  EXPECT_EQ(judged(dumped, true), Verdict::missing);
}

TEST(Verdict, FirstBadIsTheFirstOutputThatDiffersInTheLowestStep) {
  Fixture f;
  EXPECT_EQ(f.judge({f.make(".>."), f.make(".>x"), f.make("x>x"), f.make(".>x")}).first_bad, 1u);
  EXPECT_EQ(f.judge({f.make(".>."), f.make("x>x"), f.make(".>x")}).first_bad, 1u);
  EXPECT_EQ(f.judge({f.make(".>."), f.only_golden(), f.make("x>x")}).first_bad, 2u);
  EXPECT_EQ(f.judge({f.make("x>."), f.make(".>s")}).first_bad, 1u);
  EXPECT_EQ(f.judge({f.make(".>."), f.make("x>."), f.only_golden()}).first_bad, 1u);
  EXPECT_EQ(f.judge({f.make(".>x", 1, 0), f.make(".>x", 0, 1)}).first_bad, 1u);
  EXPECT_EQ(f.judge({f.make(".>."), f.make("._>.")}).first_bad, std::nullopt);
}

TEST(Verdict, Outcomes) {
  Fixture f;
  EXPECT_EQ(f.judge({f.make(".>.")}).outcome, Outcome::same);
  EXPECT_EQ(f.judge({f.make(".>."), f.make("x>x")}).outcome, Outcome::differs);
  EXPECT_EQ(f.judge({f.make(".>."), f.make(".>?")}).outcome, Outcome::incomplete);
  EXPECT_EQ(f.judge({f.make(".>?"), f.make(".>x")}).outcome, Outcome::differs);
  EXPECT_EQ(f.judge({}).outcome, Outcome::nothing_compared);
  EXPECT_EQ(f.judge({f.make("_>_")}).outcome, Outcome::nothing_compared);
  EXPECT_EQ(f.judge({f.make(">?")}).outcome, Outcome::nothing_compared);
  EXPECT_EQ(f.judge({f.only_golden()}).outcome, Outcome::nothing_compared);
  EXPECT_EQ(f.judge({f.make(">s")}).outcome, Outcome::differs);
}

TEST(Verdict, AReasonToDoubtMakesASameIncomplete) {
  Fixture f;
  Comparison comparison;
  comparison.operators = {f.make(".>.")};
  comparison.incomplete = {"actual rank 0: the recording did not end"};
  judge_operator(comparison.operators[0], {});
  judge_dumps(comparison, {});
  EXPECT_EQ(comparison.outcome, Outcome::incomplete);
}

TEST(Verdict, Coverage) {
  Fixture f;
  const Comparison comparison = f.judge({f.make("._>x"), f.make(".>?s"), f.only_golden()});
  EXPECT_EQ(comparison.coverage.golden_operators, 3u);
  EXPECT_EQ(comparison.coverage.actual_operators, 2u);
  EXPECT_EQ(comparison.coverage.paired_operators, 2u);
  EXPECT_EQ(comparison.coverage.golden_slots, 6u);
  EXPECT_EQ(comparison.coverage.compared_slots, 3u);
  EXPECT_EQ(comparison.coverage.skipped_slots, 1u);
}

}  // namespace
}  // namespace opdump::compare
