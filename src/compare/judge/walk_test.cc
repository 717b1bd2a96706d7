#include "compare/judge/walk.h"

#include <gtest/gtest.h>

#include <deque>

namespace opdump::compare {
namespace {

void judge_one(OperatorComparison& op, const Unfinished& unfinished) {
  const Study study{.unfinished = unfinished};
  Walk(study).look(op, 0);
}

// Keeps the slots that comparisons point to.
struct Fixture {
  std::deque<dump::Slot> slots;

  // `verdicts`: one letter per slot, inputs first, then '>', then outputs: "..>x" is an own error.
  // . match  x differs  s shape  ? unreadable  - missing  + extra  _ skipped
  OperatorComparison make(std::string_view verdicts, std::int64_t step = 0, std::uint32_t rank = 0) {
    OperatorComparison op;
    dump::OperatorRun run;
    run.step = step;
    run.rank = rank;
    op.golden = op.actual = std::make_shared<const dump::OperatorRun>(run);
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
    judge_one(op, unfinished);
    return op.verdict;
  }

  Comparison judge(std::vector<OperatorComparison> operators, const Unfinished& unfinished = {},
                   std::vector<std::string> incomplete = {}) {
    // So that it is known again: verdicts do not need names.
    for (std::size_t i = 0; i < operators.size(); ++i)
      for (auto* side : {&operators[i].golden, &operators[i].actual}) {
        if (*side == nullptr) continue;
        dump::OperatorRun run = **side;
        if (run.name.empty()) run.name = std::to_string(i);
        *side = std::make_shared<const dump::OperatorRun>(std::move(run));
      }
    const Study study{.unfinished = unfinished};
    Walk walk(study);
    for (std::size_t i = 0; i < operators.size(); ++i) {
      walk.look(operators[i], i);
      walk.ledger().count(operators[i]);
    }
    walk.settle();
    walk.remark();
    Comparison comparison;
    comparison.incomplete = std::move(incomplete);
    std::move(walk).conclude(comparison);
    return comparison;
  }
  // Which of `operators`; nothing if none is bad.
  std::string first_bad(std::vector<OperatorComparison> operators, const Unfinished& unfinished = {}) {
    const Comparison comparison = judge(std::move(operators), unfinished);
    return comparison.first_bad ? comparison.first_bad->run().name : "";
  }

  OperatorComparison only_golden(std::int64_t step = 0) {
    OperatorComparison op = make(">-", step);
    op.actual = nullptr;
    return op;
  }
};

TEST(Walk, Operators) {
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

TEST(Walk, SlotsTellInputsFromOutputs) {
  Fixture f;
  OperatorComparison op = f.make(".x>xs");
  judge_one(op, {});
  EXPECT_EQ(op.slots[0].verdict, Verdict::match);
  EXPECT_EQ(op.slots[1].verdict, Verdict::input_differs);
  EXPECT_EQ(op.slots[2].verdict, Verdict::inherited);
  EXPECT_EQ(op.slots[3].verdict, Verdict::not_comparable);
}

TEST(Walk, WhatAnUnfinishedRecordingLacksIsNoDifference) {
  Fixture f;
  EXPECT_EQ(f.verdict(".>.-", {{}, {0}}), Verdict::unreadable);
  EXPECT_EQ(f.verdict(".>.-", {{0}, {}}), Verdict::not_comparable);
  EXPECT_EQ(f.verdict(".>.+", {{0}, {}}), Verdict::unreadable);

  EXPECT_EQ(f.first_bad({f.make(".>."), f.only_golden()}, {{}, {0}}), "");
  EXPECT_EQ(f.first_bad({f.make(".>."), f.only_golden()}), "1");
  EXPECT_EQ(f.judge({f.make(".>."), f.only_golden()}).outcome, Answer::differs);
}

TEST(Walk, ASilentDumpCannotSayThatATensorHasNoData) {
  Fixture f;
  const model::Operator op;
  dump::Slot undumped, dumped;
  dumped.file = "x.npy";
  dump::OperatorRun run;
  run.op = std::make_shared<const dump::LoggedOperator>(op);
  OperatorComparison comparison;
  comparison.golden = std::make_shared<const dump::OperatorRun>(run);
  comparison.slots.resize(1);
  comparison.slots[0].verdict = Verdict::missing;
  const auto judged = [&](const dump::Slot& slot, bool is_silent) {
    OperatorComparison copy = comparison;
    copy.slots[0].golden = &slot;
    Unfinished unfinished;
    unfinished.actual_is_silent = is_silent;
    judge_one(copy, unfinished);
    return copy.verdict;
  };
  EXPECT_EQ(judged(undumped, true), Verdict::skipped);
  EXPECT_EQ(judged(undumped, false), Verdict::missing);
  EXPECT_EQ(judged(dumped, true), Verdict::missing);
}

TEST(Walk, FirstBadIsTheFirstOutputThatDiffersInTheLowestStep) {
  Fixture f;
  EXPECT_EQ(f.first_bad({f.make(".>."), f.make(".>x"), f.make("x>x"), f.make(".>x")}), "1");
  EXPECT_EQ(f.first_bad({f.make(".>."), f.make("x>x"), f.make(".>x")}), "1");
  EXPECT_EQ(f.first_bad({f.make(".>."), f.only_golden(), f.make("x>x")}), "2");
  EXPECT_EQ(f.first_bad({f.make("x>."), f.make(".>s")}), "1");
  EXPECT_EQ(f.first_bad({f.make(".>."), f.make("x>."), f.only_golden()}), "1");
  EXPECT_EQ(f.first_bad({f.make(".>x", 1, 0), f.make(".>x", 0, 1)}), "1");
  EXPECT_EQ(f.first_bad({f.make(".>."), f.make("._>.")}), "");
}

TEST(Walk, Outcomes) {
  Fixture f;
  EXPECT_EQ(f.judge({f.make(".>.")}).outcome, Answer::same);
  EXPECT_EQ(f.judge({f.make(".>."), f.make("x>x")}).outcome, Answer::differs);
  EXPECT_EQ(f.judge({f.make(".>."), f.make(".>?")}).outcome, Answer::incomplete);
  EXPECT_EQ(f.judge({f.make(".>?"), f.make(".>x")}).outcome, Answer::differs);
  EXPECT_EQ(f.judge({}).outcome, Answer::nothing_compared);
  EXPECT_EQ(f.judge({f.make("_>_")}).outcome, Answer::nothing_compared);
  EXPECT_EQ(f.judge({f.make(">?")}).outcome, Answer::nothing_compared);
  EXPECT_EQ(f.judge({f.only_golden()}).outcome, Answer::nothing_compared);
  EXPECT_EQ(f.judge({f.make(">s")}).outcome, Answer::differs);
}

// Of a float32 slot: how far it is off, relative.
void set_distance(SlotComparison& slot, double distance) {
  slot.dtype = model::DType::float32;
  slot.metrics->relative_l2 = distance;
}

TEST(Walk, RoundingThatGrowsIsNoDifference) {
  Fixture f;
  const auto outcome = [&](double first, double input, double output, std::string_view type = "mm") {
    std::vector<OperatorComparison> operators = {f.make(".>."), f.make("x>x")};
    set_distance(operators[0].slots[1], first);
    set_distance(operators[1].slots[0], input);
    set_distance(operators[1].slots[1], output);
    dump::OperatorRun run = *operators[1].golden;
    run.type = type;
    operators[1].golden = operators[1].actual = std::make_shared<const dump::OperatorRun>(run);
    return f.judge(std::move(operators));
  };
  const Comparison rounding = outcome(1e-7, 1e-6, 2e-6);
  EXPECT_EQ(rounding.outcome, Answer::same);
  EXPECT_EQ(rounding.verdicts[static_cast<std::size_t>(Verdict::rounding)], 1u);
  EXPECT_EQ(outcome(0, 1e-6, 2e-6).outcome, Answer::differs);     // no operator made it: a weight
  EXPECT_EQ(outcome(1e-7, 1e-6, 1e-4).outcome, Answer::differs);  // it grows too fast
  EXPECT_EQ(outcome(1e-7, 1e-6, 1e-4, "addcdiv_").outcome, Answer::same);
  EXPECT_EQ(outcome(1e-3, 1e-3, 1e-3).outcome, Answer::differs);  // too much for rounding
}

TEST(Walk, RoundingOfOneRankExcusesNoOther) {
  Fixture f;
  const auto outcome = [&](std::uint32_t rank_of_noise) {
    std::vector<OperatorComparison> operators = {f.make(".>.", 0, 0), f.make(".>.", 0, rank_of_noise),
                                                 f.make("x>x", 0, 1)};
    set_distance(operators[1].slots[1], 1e-7);
    set_distance(operators[2].slots[0], 1e-6);
    set_distance(operators[2].slots[1], 2e-6);
    return f.judge(std::move(operators)).outcome;
  };
  EXPECT_EQ(outcome(1), Answer::same);
  EXPECT_EQ(outcome(0), Answer::differs);  // a weight of rank 1
}

TEST(Walk, WhatHardlyExceedsItsInputsIsPassedOn) {
  Fixture f;
  const auto outcome = [&](double input, double output) {
    std::vector<OperatorComparison> operators = {f.make(".>."), f.make("x>x")};
    set_distance(operators[0].slots[1], 1e-5);
    set_distance(operators[1].slots[0], input);
    set_distance(operators[1].slots[1], output);
    return f.judge(std::move(operators)).outcome;
  };
  EXPECT_EQ(outcome(1.25e-4, 1.35e-4), Answer::same);
  EXPECT_EQ(outcome(1.25e-4, 1.45e-4), Answer::differs);
  EXPECT_EQ(outcome(1e-5, 1.35e-4), Answer::differs);  // it is made here
}

TEST(Walk, OnlyWhatReadsMoreThanRoundingHandsItOn) {
  Fixture f;
  const auto count_open = [&](double input, model::DType dtype) {
    std::vector<OperatorComparison> operators = {f.make(".>."), f.make("x>x")};
    for (dump::Slot& slot : f.slots) slot.dtype = dtype;
    set_distance(operators[0].slots[1], 1e-5);
    set_distance(operators[1].slots[0], input);
    set_distance(operators[1].slots[1], 0.5);
    const Study study;
    Walk walk(study);
    for (std::size_t i = 0; i < operators.size(); ++i) walk.look(operators[i], i);
    return walk.ledger().open_pairs().size();
  };
  EXPECT_EQ(count_open(0.5, model::DType::float32), 1u);
  EXPECT_EQ(count_open(1e-5, model::DType::float32), 0u);
  EXPECT_EQ(count_open(0.5, model::DType::int64), 0u);  // a choice
}

// A norm passes the gradient on, and adds up those of its weights, whose terms cancel.
TEST(Walk, EachOutputMayRoundInItsWay) {
  Fixture f;
  const auto outcome = [&](double passed_on) {
    std::vector<OperatorComparison> operators = {f.make(".>."), f.make("x>xx")};
    f.slots.back().index = 1;
    set_distance(operators[0].slots[1], 1e-7);
    OperatorComparison& op = operators[1];
    set_distance(op.slots[0], 1e-6);
    set_distance(op.slots[1], passed_on);
    set_distance(op.slots[2], 0.5);
    op.slots[0].shape = model::Shape({25, 4});
    op.slots[0].metrics->count = 100;
    op.slots[0].metrics->rmse = 3e-7;  // of a norm of 3, and terms of 15
    op.slots[2].shape = model::Shape({4});
    op.slots[2].metrics->count = 4;
    op.slots[2].metrics->rmse = op.slots[2].metrics->max_abs = 5e-6;
    dump::OperatorRun run = *op.golden;
    run.type = "native_layer_norm_backward";
    op.golden = op.actual = std::make_shared<const dump::OperatorRun>(run);
    return f.judge(std::move(operators)).outcome;
  };
  EXPECT_EQ(outcome(2e-6), Answer::same);
  EXPECT_EQ(outcome(1e-3), Answer::differs);
}

TEST(Walk, WhatBfloat16RoundedStaysCoarseInFloat32) {
  Fixture f;
  const auto outcome = [&](model::DType dtype) {
    std::vector<OperatorComparison> operators = {f.make(".>."), f.make("x>x")};
    set_distance(operators[0].slots[1], 2e-3);
    operators[0].slots[1].dtype = dtype;
    set_distance(operators[1].slots[0], 2e-3);
    set_distance(operators[1].slots[1], 1e-3);
    return f.judge(std::move(operators)).outcome;
  };
  EXPECT_EQ(outcome(model::DType::bfloat16), Answer::same);
  EXPECT_EQ(outcome(model::DType::float32), Answer::differs);
}

TEST(Walk, ACopyMoreIsNoDifference) {
  Fixture f;
  const auto outcome = [&](const char* type) {
    OperatorComparison single = f.make(".>.");
    dump::OperatorRun run = *single.golden;
    run.type = type;
    single.golden = std::make_shared<const dump::OperatorRun>(run);
    single.actual = nullptr;
    return f.judge({f.make(".>."), single}).outcome;
  };
  EXPECT_EQ(outcome("clone"), Answer::same);
  EXPECT_EQ(outcome("_to_copy"), Answer::same);
  EXPECT_EQ(outcome("relu"), Answer::differs);
}

TEST(Walk, AnArgumentThatDiffersIsTheCause) {
  Fixture f;
  const auto judged = [&](std::string_view slots, const std::string& golden, const std::string& actual) {
    OperatorComparison op = f.make(slots);
    dump::OperatorRun run = *op.golden;
    run.form = std::make_shared<const dump::CallForm>(dump::CallForm{"aten::mul.Tensor", golden});
    op.golden = std::make_shared<const dump::OperatorRun>(run);
    run.form = std::make_shared<const dump::CallForm>(dump::CallForm{"aten::mul.Tensor", actual});
    op.actual = std::make_shared<const dump::OperatorRun>(run);
    return *f.judge({op}).first_bad;
  };
  const std::string four = R"({"self":{"tensor":1},"other":{"tensor":0,"constant":"4"}})";
  const std::string five = R"({"self":{"tensor":1},"other":{"tensor":0,"constant":"5"}})";
  const OperatorComparison op = judged("x>x", four, five);
  EXPECT_EQ(op.verdict, Verdict::argument_differs);
  EXPECT_EQ(op.cause, "input.0 is the constant 4 in golden and 5 in actual");
  EXPECT_EQ(judged("x>x", four, four).verdict, Verdict::inherited);
  EXPECT_EQ(judged(".>x", R"({"eps":1e-05})", R"({"eps":0.001})").cause,
            "eps is 1e-05 in golden and 0.001 in actual");
  EXPECT_EQ(judged("x>x", R"({"eps":1e-05})", R"({"eps":0.001})").verdict, Verdict::inherited);  // of both
  EXPECT_EQ(judged(".>x", R"({"ceil_mode":false})", R"({"ceil_mode":0})").cause, "");
  EXPECT_EQ(judged(".>x", R"({"ceil_mode":false})", R"({"ceil_mode":1})").cause,
            "ceil_mode is False in golden and 1 in actual");
  // The lowest numbers of two types.
  EXPECT_EQ(judged(".>x", R"({"s":-3.4028234663852886e+38})", R"({"s":-65504.0})").cause, "");
  EXPECT_EQ(judged(".>x", R"({"s":-3.4028234663852886e+38})", R"({"s":65504.0})").cause,
            "s is -3.4028234663852886e+38 in golden and 65504.0 in actual");
  // Of a mask.
  EXPECT_EQ(judged(".>x", R"({"s":{"float":"-inf"}})", R"({"s":-1e9})").cause, "");
  EXPECT_EQ(judged(".>x", R"({"max":{"float":"inf"}})", R"({"max":6.0})").cause,
            "max is inf in golden and 6.0 in actual");
  EXPECT_EQ(judged(".>x", R"({"s":{"float":"-inf"}})", R"({"s":1e9})").cause,
            "s is -inf in golden and 1000000000.0 in actual");
  EXPECT_EQ(judged(".>x", R"({"dtype":"torch.float32"})", R"({"dtype":"torch.float64"})").cause, "");
}

TEST(Walk, RandomNumbersAreTheCauseOfTheirOperator) {
  Fixture f;
  const auto cause = [&](const std::string& type, std::string_view slots) {
    OperatorComparison op = f.make(slots);
    dump::OperatorRun run = *op.golden;
    run.type = type;
    op.golden = std::make_shared<const dump::OperatorRun>(run);
    return f.judge({op}).first_bad->cause;
  };
  for (const char* type : {"uniform_", "randn", "native_dropout", "RandomNormalLike"})
    EXPECT_EQ(cause(type, ".>x"), "it draws random numbers (another seed?)") << type;
  EXPECT_EQ(cause("native_dropout", "x>x"), "");
  EXPECT_EQ(cause("relu", ".>x"), "");
}

TEST(Walk, WhatTheOtherFrameworkTakesSeveralOperatorsForRoundsOtherwise) {
  Fixture f;
  const auto verdict = [&](const std::string& actual, double distance, bool is_across) {
    OperatorComparison op = f.make(".>x");
    dump::OperatorRun run = *op.golden;
    run.type = "_softmax_backward_data";
    op.golden = std::make_shared<const dump::OperatorRun>(run);
    run.type = actual;
    op.actual = std::make_shared<const dump::OperatorRun>(run);
    op.is_across = is_across;
    for (SlotComparison& slot : op.slots) slot.dtype = model::DType::float32;
    op.slots.back().metrics->relative_l2 = distance;
    const Study study;
    Walk(study).look(op, 0);
    return op.verdict;
  };
  EXPECT_EQ(verdict("Mul", 1e-5, true), Verdict::rounding);
  EXPECT_EQ(verdict("Mul", 1e-3, true), Verdict::own_error);
  EXPECT_EQ(verdict("Mul", 1e-5, false), Verdict::own_error);
  EXPECT_EQ(verdict("_softmax_backward_data", 1e-5, true), Verdict::own_error);
}

TEST(Walk, AReasonToDoubtMakesASameIncomplete) {
  Fixture f;
  const Comparison comparison = f.judge({f.make(".>.")}, {}, {"actual rank 0: the recording did not end"});
  EXPECT_EQ(comparison.outcome, Answer::incomplete);
}

TEST(Walk, UnpairedJustBeforeTheFirstBad) {
  Fixture f;
  const auto unpaired = [&](std::vector<OperatorComparison> operators) {
    return f.judge(std::move(operators)).before_first_bad;
  };
  EXPECT_EQ(
      unpaired({f.only_golden(), f.make(".>."), f.only_golden(), f.only_golden(), f.make(".>x")}).only_golden,
      2u);
  EXPECT_EQ(unpaired({f.only_golden(), f.make(".>."), f.make(".>x")}).only_golden, 0u);
  EXPECT_EQ(unpaired({f.only_golden(0), f.make(".>x", 1)}).only_golden, 0u);  // of another step
  EXPECT_EQ(unpaired({f.only_golden(), f.only_golden(), f.make(".>.")}).only_golden, 0u);
}

TEST(Walk, CountsVerdictsAndKnowsOfRanks) {
  Fixture f;
  const Comparison comparison = f.judge({f.make(".>."), f.make(".>x"), f.make(".>."), f.only_golden()});
  EXPECT_EQ(comparison.verdicts[static_cast<std::size_t>(Verdict::match)], 2u);
  EXPECT_EQ(comparison.verdicts[static_cast<std::size_t>(Verdict::own_error)], 1u);
  EXPECT_EQ(comparison.verdicts[static_cast<std::size_t>(Verdict::missing)], 1u);
  EXPECT_FALSE(comparison.has_ranks);
  EXPECT_TRUE(f.judge({f.make(".>.", 0, 1), f.make(".>.", 0, 2)}).has_ranks);
}

TEST(Walk, Coverage) {
  Fixture f;
  const Comparison comparison = f.judge({f.make("._>x"), f.make(".>?s"), f.only_golden()});
  EXPECT_EQ(comparison.coverage.golden_operators, 3u);
  EXPECT_EQ(comparison.coverage.actual_operators, 2u);
  EXPECT_EQ(comparison.coverage.paired_operators, 2u);
  EXPECT_EQ(comparison.coverage.golden_slots, 6u);
  EXPECT_EQ(comparison.coverage.compared_slots, 3u);
  EXPECT_EQ(comparison.coverage.skipped_slots, 1u);
}

TEST(Walk, InACutStepAbsenceIsNoFault) {
  Fixture fixture;
  Unfinished unfinished;
  unfinished.actual_cut[0] = 2;
  OperatorComparison in_step_1 = fixture.make(".>.", 1), in_step_2 = fixture.make(".>.", 2);
  for (OperatorComparison* op : {&in_step_1, &in_step_2}) op->actual = nullptr;
  EXPECT_FALSE(fixture.judge({fixture.make(".>."), in_step_2}, unfinished, {"cut"}).first_bad);
  EXPECT_TRUE(fixture.judge({fixture.make(".>."), in_step_1}, unfinished, {"cut"}).first_bad);
}

TEST(Ledger, TensorsOfOtherSizesThatWereComparedAreNoOtherSizes) {
  dump::Slot few, many;
  few.side = many.side = model::Side::output;
  few.shape = model::Shape({2});
  many.shape = model::Shape({3});
  SlotComparison slot;
  slot.golden = &few;
  slot.actual = &many;
  slot.verdict = Verdict::not_comparable;
  OperatorComparison op;
  op.golden = op.actual = std::make_shared<const dump::OperatorRun>();
  op.verdict = Verdict::own_error;
  op.slots = {slot};
  Ledger by_size;
  by_size.add(op, 7);
  EXPECT_EQ(by_size.loose_pairs().size(), 1u);
  op.slots.front().verdict = Verdict::own_error;
  op.slots.front().metrics.emplace();  // of the rows that both have
  Ledger by_values;
  by_values.add(op, 7);
  EXPECT_TRUE(by_values.loose_pairs().empty());
}

TEST(Walk, WorkersRunAhead) {
  Fixture fixture;
  const auto alone = [&](std::string name) {
    OperatorComparison op = fixture.make(">.");
    auto run = std::make_shared<dump::OperatorRun>(*op.golden);
    run->name = std::move(name);
    op.golden = run;
    op.actual = nullptr;
    return op;
  };
  for (const char* name :
       {"Default/worker0/stack-op3", "Default_worker12_stack-op3", "Default/worker0_1/sin-op0"})
    EXPECT_FALSE(fixture.judge({fixture.make(".>."), alone(name)}).first_bad) << name;
  for (const char* name : {"Default/worker-Linear/mm-op0", "Default/workers/mm-op0", "Default/stack-op3"})
    EXPECT_TRUE(fixture.judge({fixture.make(".>."), alone(name)}).first_bad) << name;
}

}  // namespace
}  // namespace opdump::compare
