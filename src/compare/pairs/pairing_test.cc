#include "compare/pairs/pairing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/read/summary_test.h"

namespace opdump::compare {
namespace {

using dump::OperatorRun;
using dump::Slot;
using ::testing::Contains;
using ::testing::ElementsAre;

OperatorRun make_run(std::string name, std::string type = "add", model::Shape shape = {2, 3},
                     std::int64_t step = 0) {
  OperatorRun run;
  run.name = std::move(name);
  run.type = std::move(type);
  run.step = step;
  Slot slot;
  slot.side = model::Side::output;
  slot.shape = shape;
  run.slots.push_back(slot);
  return run;
}

dump::Runs make_runs(const std::vector<OperatorRun>& list) {
  dump::Runs runs;
  for (const OperatorRun& run : list) {
    dump::add_run(runs, runs.add_section({run.rank, run.graph_id, run.step}), run);
    if (run.op != nullptr) runs.set_operator(runs.size() - 1, runs.add_operator(*run.op));
  }
  runs.sort();
  return runs;
}

Pairing pair(const std::vector<OperatorRun>& golden, const std::vector<OperatorRun>& actual) {
  return pair_operators(make_runs(golden), make_runs(actual));
}

// "a=b" for a pair, "a=" for what is only in golden, "=b" for what is only in actual.
std::vector<std::string> pair_names(const std::vector<OperatorRun>& golden,
                                    const std::vector<OperatorRun>& actual) {
  std::vector<std::string> names;
  const Pairing pairing = pair(golden, actual);
  for (std::size_t i = 0; i < pairing.pairs.size(); ++i) {
    const OperatorPair& pair = pairing.pairs[i];
    names.push_back((pair.golden != OperatorPair::kNone ? golden[pair.golden].name : "") + "=" +
                    (pair.actual != OperatorPair::kNone ? actual[pair.actual].name : ""));
  }
  return names;
}

TEST(Pairing, EqualNamesInAnyOrder) {
  EXPECT_THAT(pair_names({make_run("a"), make_run("b")}, {make_run("b"), make_run("a")}),
              ElementsAre("a=a", "b=b"));
}

TEST(Pairing, DuplicatesPairInOrder) {
  std::vector<OperatorRun> golden{make_run("a"), make_run("a"), make_run("a")};
  std::vector<OperatorRun> actual{make_run("a"), make_run("a")};
  const auto pairs = pair(golden, actual).pairs;
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0].actual, 0u);
  EXPECT_EQ(pairs[1].actual, 1u);
  EXPECT_EQ(pairs[2].actual, OperatorPair::kNone);
}

// Makes an operator of a graph as an engine executes it.
OperatorRun make_executed(const std::string& name, std::vector<std::string> originals) {
  OperatorRun run = make_run(name);
  model::Operator op;
  op.name = name;
  op.original_names = std::move(originals);
  run.op = std::make_shared<const dump::LoggedOperator>(std::move(op));
  return run;
}

TEST(Pairing, ExecutedOperatorsOfOtherNamesStayAlone) {
  EXPECT_THAT(pair_names({make_executed("a", {"a"}), make_executed("bc", {"b", "c"})},
                         {make_executed("d", {"d"}), make_executed("c", {"c"})}),
              ElementsAre("=d", "a=", "bc=c"));
}

TEST(Pairing, WhatAnEnginePutsInForALayoutIsAPairInEqualGraphsOnly) {
  const auto reorder = [](const std::string& name) {
    OperatorRun run = make_executed(name, {});
    run.type = "ReorderOutput";
    return run;
  };
  const std::vector<OperatorRun> golden{make_executed("a", {"a"}), reorder("reorder_1")};
  EXPECT_THAT(pair_names(golden, golden), ElementsAre("a=a", "reorder_1=reorder_1"));
  EXPECT_THAT(
      pair_names(golden, {make_executed("a", {"a"}), make_executed("b", {"b"}), reorder("reorder_1")}),
      ElementsAre("a=a", "=b", "=reorder_1", "reorder_1="));
}

// What opdump recorded: it numbers operators within a scope.
OperatorRun make_logged(const std::string& name, model::Shape shape = {2, 3}) {
  OperatorRun run = make_run("Default_" + name, name.substr(0, name.find('-')), std::move(shape));
  model::Operator op;
  op.name = "Default/" + name;
  run.op = std::make_shared<const dump::LoggedOperator>(std::move(op));
  return run;
}

TEST(Pairing, ABatchNormOfACompiledRegionIsThatOfAnEagerRun) {
  for (const std::string norm :
       {"_native_batch_norm_legit_functional-op0", "_native_batch_norm_legit_no_training-op0"})
    EXPECT_THAT(pair_names({make_logged("native_batch_norm-op0")}, {make_logged(norm)}),
                ElementsAre("Default_native_batch_norm-op0=Default_" + norm));
}

TEST(Pairing, AnOperatorMoreDoesNotShiftThoseAfterIt) {
  const std::vector<OperatorRun> golden{make_logged("mm-op0"), make_logged("relu-op0"), make_logged("mm-op1"),
                                        make_logged("tanh-op0"), make_logged("relu-op1")};
  std::vector<OperatorRun> actual{make_logged("relu-op0"), make_logged("mm-op0"),   make_logged("relu-op1"),
                                  make_logged("mm-op1"),   make_logged("tanh-op0"), make_logged("relu-op2")};
  EXPECT_THAT(pair_names(golden, actual),
              ElementsAre("=Default_relu-op0", "Default_mm-op0=Default_mm-op0",
                          "Default_relu-op0=Default_relu-op1", "Default_mm-op1=Default_mm-op1",
                          "Default_tanh-op0=Default_tanh-op0", "Default_relu-op1=Default_relu-op2"));
  EXPECT_THAT(pair(golden, actual).notes,
              ElementsAre("2 operators are paired by shapes and neighbours, because one run has more of the "
                          "same name"));
  // By shape where neighbours say nothing.
  const std::vector<OperatorRun> two{make_logged("relu-op0", {4}), make_logged("relu-op1", {5})},
      last{make_logged("relu-op0", {5})};
  EXPECT_THAT(pair_names(two, last), ElementsAre("Default_relu-op0=", "Default_relu-op1=Default_relu-op0"));
  EXPECT_TRUE(pair(golden, golden).notes.empty());
  EXPECT_EQ(pair(golden, golden).pairs.front().paired_by, PairedBy::name);
  const auto aligned = pair(golden, actual).pairs;
  EXPECT_EQ(aligned[0].paired_by, PairedBy::none);
  EXPECT_EQ(aligned[1].paired_by, PairedBy::name);
  EXPECT_EQ(aligned[2].paired_by, PairedBy::alignment);
}

TEST(Pairing, AViewThatOnlyOneExecutionHasIsNoNeighbour) {
  OperatorRun view = make_logged("view-op1");
  for (Slot& slot : view.slots) slot.undumped_reason = "view";
  const std::vector<OperatorRun> golden{make_logged("relu-op0"), make_logged("mm-op0", {4}),
                                        make_logged("tanh-op0")};
  const std::vector<OperatorRun> actual{make_logged("relu-op0"), view, make_logged("mm-op0", {4}),
                                        make_logged("tanh-op0"), make_logged("mm-op1", {4})};
  EXPECT_THAT(pair_names(golden, actual), Contains("Default_mm-op0=Default_mm-op0"));
}

// What TensorFlow calls Mul, Mul_1, ...
OperatorRun make_numbered(const std::string& name, const std::string& type, model::Shape shape = {2, 3}) {
  OperatorRun run = make_run(name, type, std::move(shape));
  model::Operator op;
  op.name = "gradient_tape/" + name;
  run.op = std::make_shared<const dump::LoggedOperator>(std::move(op));
  return run;
}

TEST(Pairing, AnOperatorMoreDoesNotShiftThoseOfTensorFlow) {
  const std::vector<OperatorRun> golden{make_numbered("mul", "Mul"), make_numbered("Tanh", "Tanh"),
                                        make_numbered("mul_1", "Mul", {4})};
  const std::vector<OperatorRun> actual{make_numbered("mul", "Mul", {5}), make_numbered("mul_1", "Mul"),
                                        make_numbered("Tanh", "Tanh"), make_numbered("mul_2", "Mul", {4})};
  EXPECT_THAT(pair_names(golden, actual), ElementsAre("=mul", "mul=mul_1", "Tanh=Tanh", "mul_1=mul_2"));
  // A number that belongs to a name is no count.
  const std::vector<OperatorRun> two{make_numbered("layer_1", "Mul"), make_numbered("layer_2", "Mul")},
      last{make_numbered("layer_2", "Mul")};
  EXPECT_THAT(pair_names(two, last), ElementsAre("layer_1=", "layer_2=layer_2"));
}

// Versions of a framework do so that compute a module in other ways.
TEST(Pairing, OperatorsOfOtherShapesAreOthersWhereAModuleHasOperatorsMore) {
  const std::vector<OperatorRun> golden{make_logged("a/mm-op0"), make_logged("a/clone-op0", {3, 4}),
                                        make_logged("a/bmm-op0"), make_logged("b/mm-op0"),
                                        make_logged("b/clone-op0", {2, 6})};
  const std::vector<OperatorRun> actual{make_logged("a/mm-op0"), make_logged("a/clone-op0", {4, 3}),
                                        make_logged("b/mm-op0"), make_logged("b/clone-op0", {6, 2})};
  EXPECT_THAT(pair_names(golden, actual),
              ElementsAre("Default_a/mm-op0=Default_a/mm-op0", "=Default_a/clone-op0",
                          "Default_a/clone-op0=", "Default_a/bmm-op0=", "Default_b/mm-op0=Default_b/mm-op0",
                          "Default_b/clone-op0=Default_b/clone-op0"));
  const auto has_clone = Contains("Default_a/clone-op0=Default_a/clone-op0");
  // Most have other shapes; only the batch is another.
  const std::vector<OperatorRun> other{make_logged("a/mm-op0", {9}), make_logged("a/clone-op0", {9}),
                                       make_logged("b/mm-op0", {9}), make_logged("b/clone-op0", {9})};
  EXPECT_THAT(pair_names(golden, other), has_clone);
  const std::vector<OperatorRun> batch{make_logged("a/mm-op0"), make_logged("a/clone-op0", {9, 4}),
                                       make_logged("b/mm-op0"), make_logged("b/clone-op0", {2, 6})};
  EXPECT_THAT(pair_names(golden, batch), has_clone);
}

// What a log of DebugMode knows: no classes of modules, and nothing of the backward pass.
OperatorRun make_log(const std::string& name, const std::string& type, model::Shape shape = {2, 3}) {
  OperatorRun run = make_run(name, type, std::move(shape));
  dump::LoggedOperator op;
  op.name = name;
  op.has_full_scope = false;
  run.op = std::make_shared<const dump::LoggedOperator>(std::move(op));
  return run;
}

OperatorRun make_full(const std::string& name, const std::string& type, model::Shape shape = {2, 3}) {
  OperatorRun run = make_log(name, type, std::move(shape));
  auto op = *run.op;
  op.has_full_scope = true;
  run.op = std::make_shared<const dump::LoggedOperator>(std::move(op));
  return run;
}

TEST(Pairing, ALogPairsByModuleAndType) {
  const std::vector<OperatorRun> golden{make_full("Default/zeros-op0", "zeros"),
                                        make_full("Default/a-Linear/mm-op0", "mm"),
                                        make_full("Default/b-Linear/mm-op0", "mm"),
                                        make_full("Default/sum-op0", "sum"),
                                        make_full("Gradients/Default/b-Linear/mm-op0", "mm"),
                                        make_full("Gradients/Default/a-Linear/mm-op0", "mm"),
                                        make_full("Gradients/Default/a-Linear/add_-op0", "add_"),
                                        make_full("Default/item-op0", "item")};
  const std::vector<OperatorRun> actual{
      make_log("Default/a/mm-op0", "mm"), make_log("Default/b/mm-op0", "mm"),
      make_log("Default/b/t-op0", "t"),   make_log("Default/sum-op0", "sum"),
      make_log("Default/mm-op0", "mm"),   make_log("Default/exp-op0", "exp"),
      make_log("Default/mm-op1", "mm"),   make_log("Default/add-op0", "add")};
  EXPECT_THAT(
      pair_names(golden, actual),
      ElementsAre("Default/zeros-op0=", "Default/a-Linear/mm-op0=Default/a/mm-op0",
                  "Default/b-Linear/mm-op0=Default/b/mm-op0", "=Default/b/t-op0",
                  "Default/sum-op0=Default/sum-op0", "Gradients/Default/b-Linear/mm-op0=Default/mm-op0",
                  "=Default/exp-op0", "Gradients/Default/a-Linear/mm-op0=Default/mm-op1",
                  "Gradients/Default/a-Linear/add_-op0=Default/add-op0", "Default/item-op0="));
  const auto pairs = pair(golden, actual).pairs;
  EXPECT_EQ(pairs[0].fusion, Fusion::unlogged);
  EXPECT_EQ(pairs[1].paired_by, PairedBy::path);
  EXPECT_EQ(pairs[3].fusion, Fusion::moves);
  EXPECT_EQ(pairs[6].fusion, Fusion::none);  // a difference
  EXPECT_EQ(pairs[9].fusion, Fusion::unlogged);
  EXPECT_THAT(
      pair(golden, actual).notes,
      ElementsAre(
          "operators are paired by module and type, in order, because a log of DebugMode names no more",
          "2 operators of golden ran before or after what the other dump is a log of: left out"));
  // Two logs, one of them without modules; and two of the same.
  EXPECT_THAT(pair_names({make_log("Default/a/mm-op0", "mm")}, {make_log("Default/mm-op0", "mm")}),
              ElementsAre("Default/a/mm-op0=Default/mm-op0"));
  EXPECT_EQ(pair(actual, actual).pairs[0].paired_by, PairedBy::name);
  EXPECT_TRUE(pair(actual, actual).notes.empty());
}

// An optimizer's update without and with foreach is such a pair: one counts steps in place, the other adds
// something else.
TEST(Pairing, InPlaceIsAnotherType) {
  EXPECT_THAT(
      pair_names({make_logged("add_-op0", {}), make_logged("add_-op1")}, {make_logged("add-op0", {})}),
      ElementsAre("=Default_add-op0", "Default_add_-op0=", "Default_add_-op1="));
}

TEST(Pairing, RenamedOperatorsPairByScopeTypeAndShape) {
  EXPECT_THAT(pair_names({make_run("Default_l1_add-op3"), make_run("Default_l1_add-op4", "add", {5})},
                         {make_run("Default_l1_add-op8", "add", {5}), make_run("Default_l1_add-op7")}),
              ElementsAre("Default_l1_add-op3=Default_l1_add-op7", "Default_l1_add-op4=Default_l1_add-op8"));
  // another scope, another type, another shape
  EXPECT_THAT(pair_names({make_run("Default_l1_add-op3")}, {make_run("Default_l2_add-op7")}),
              ElementsAre("=Default_l2_add-op7", "Default_l1_add-op3="));
  EXPECT_THAT(pair_names({make_run("Default_l1_add-op3")}, {make_run("Default_l1_mul-op7", "mul")}),
              ElementsAre("=Default_l1_mul-op7", "Default_l1_add-op3="));
  EXPECT_THAT(pair_names({make_run("Default_l1_add-op3")}, {make_run("Default_l1_add-op7", "add", {3, 2})}),
              ElementsAre("=Default_l1_add-op7", "Default_l1_add-op3="));
}

TEST(Pairing, ExtrasStandWhereTheyRan) {
  EXPECT_THAT(pair_names({make_run("a"), make_run("b"), make_run("c")},
                         {make_run("x", "x"), make_run("a"), make_run("y", "y"), make_run("b"), make_run("c"),
                          make_run("z", "z")}),
              ElementsAre("=x", "a=a", "=y", "b=b", "c=c", "=z"));
}

TEST(Pairing, StepsDoNotMixAndExtraStepsStandInOrder) {
  EXPECT_THAT(
      pair_names({make_run("a", "t", {1}, 0), make_run("a", "t", {1}, 2)},
                 {make_run("a", "t", {1}, 1), make_run("b", "t", {1}, 2), make_run("a", "t", {1}, 2)}),
      ElementsAre("a=", "=a", "=b", "a=a"));
}

// A step that took another path is an execution of another graph, and how many there were before it says
// nothing about the step.
TEST(Pairing, GraphsOfOneStepNeedNotHaveOneNumber) {
  std::vector<OperatorRun> golden{make_run("a", "t", {1}, 0), make_run("a", "t", {1}, 1)};
  std::vector<OperatorRun> actual = golden;
  golden[1].graph_id = 1;
  actual[0].graph_id = 2;
  EXPECT_THAT(pair_names(golden, actual), ElementsAre("a=a", "a=a"));
  // Two graphs in one step are not mixed up.
  golden = {make_run("a"), make_run("a")};
  golden[1].graph_id = 1;
  actual = golden;
  actual.erase(actual.begin());
  EXPECT_THAT(pair_names(golden, actual), ElementsAre("a=", "a=a"));
}

TEST(Pairing, SingleStepsNeedNotBeEqualButANoteSaysSo) {
  std::vector<OperatorRun> golden{make_run("a", "t", {1}, 3)}, actual{make_run("a", "t", {1}, 5)};
  actual[0].rank = 1;
  const Pairing pairing = pair(golden, actual);
  ASSERT_EQ(pairing.pairs.size(), 1u);
  EXPECT_EQ(pairing.pairs[0].actual, 0u);
  EXPECT_THAT(pairing.notes,
              ElementsAre("rank 0 of golden is compared with rank 1 of actual, the only one there",
                          "step 3 of golden is compared with step 5 of actual, the only one there"));
}

// What has nothing of its step and rank on the other side was not recorded there.
TEST(Pairing, KnowsWhatIsAlone) {
  const auto pairs =
      pair({make_run("a", "t", {1}, 0), make_run("b", "u", {1}, 0), make_run("a", "t", {1}, 1)},
           {make_run("a", "t", {1}, 0), make_run("a", "t", {1}, 2)})
          .pairs;
  ASSERT_EQ(pairs.size(), 4u);
  EXPECT_FALSE(pairs[0].is_alone);
  EXPECT_FALSE(pairs[1].is_alone);  // b
  EXPECT_TRUE(pairs[2].is_alone);
  EXPECT_TRUE(pairs[3].is_alone);
}

TEST(Pairing, NothingOnOneSide) {
  EXPECT_THAT(pair_names({}, {make_run("a")}), ElementsAre("=a"));
  EXPECT_THAT(pair_names({make_run("a")}, {}), ElementsAre("a="));
  EXPECT_THAT(pair_names({}, {}), ElementsAre());
}

// Steps 0 and 1 with an operator each, and `behind` after them.
std::vector<OperatorRun> make_program(std::vector<std::string> behind, std::int64_t steps = 2) {
  std::vector<OperatorRun> list;
  for (std::int64_t step = 0; step < steps; ++step) list.push_back(make_run("a", "add", {2, 3}, step));
  for (std::string& name : behind) list.push_back(make_run(std::move(name), "item", {}, steps));
  return list;
}

Pairing pair_programs(const std::vector<OperatorRun>& golden, const std::vector<OperatorRun>& actual,
                      const TailsOfBoth& tails) {
  return pair_operators(make_runs(golden), make_runs(actual), tails);
}

TEST(Pairing, WhatRanAfterTheLastStepIsNoStep) {
  // Two steps against three: what follows the second is not the third.
  const Pairing pairing =
      pair_programs(make_program({"loss"}), make_program({"loss"}, 3), {{{0, 2}}, {{0, 3}}});
  ASSERT_EQ(pairing.pairs.size(), 3u);
  EXPECT_EQ(pairing.pairs[2].golden, OperatorPair::kNone);
  EXPECT_TRUE(pairing.pairs[2].is_alone);
  EXPECT_THAT(pairing.incomplete,
              ElementsAre("rank 0: the last 1 operator after the last step is only in golden",
                          "rank 0: the last 1 operator after the last step is only in actual"));
}

TEST(Pairing, TailsArePairedAsFarAsBothGo) {
  const TailsOfBoth tails{{{0, 2}}, {{0, 2}}};
  const Pairing same = pair_programs(make_program({"loss"}), make_program({"loss"}), tails);
  EXPECT_EQ(same.pairs.size(), 3u);
  EXPECT_TRUE(same.notes.empty());
  const Pairing other = pair_programs(make_program({"loss"}), make_program({"loss", "print"}), tails);
  EXPECT_EQ(other.pairs.size(), 3u);
  EXPECT_THAT(other.incomplete,
              ElementsAre("rank 0: the last 1 operator after the last step is only in actual"));
  // One more before the last one of both is a difference.
  const Pairing before = pair_programs(make_program({"loss"}), make_program({"scale", "loss"}), tails);
  EXPECT_EQ(before.pairs.size(), 4u);
  EXPECT_TRUE(before.incomplete.empty());
}

TEST(Pairing, ATailIsNotTheOnlyStep) {
  std::vector<OperatorRun> golden{make_run("a"), make_run("loss", "item", {}, 1)};
  std::vector<OperatorRun> actual{make_run("a", "add", {2, 3}, 5)};
  const Pairing pairing = pair_programs(golden, actual, {{{0, 1}}, {{0, -1}}});
  ASSERT_EQ(pairing.pairs.size(), 1u);
  EXPECT_EQ(pairing.notes.front(), "step 0 of golden is compared with step 5 of actual, the only one there");
}

}  // namespace
// An optimizer ends steps at its call, so that the number that is printed belongs to the next step, or to
// what runs after the last one.
TEST(Pairing, StepsThatEndElsewhereAreOneSequence) {
  const auto make = [](const std::string& name, model::Phase phase, std::int64_t step) {
    OperatorRun run = make_logged(name);
    model::Operator op;
    op.name = "Default/" + name;
    op.phase = phase;
    run.op = std::make_shared<const dump::LoggedOperator>(std::move(op));
    run.step = step;
    run.slots.push_back(run.slots.front());
    run.slots.back().side = model::Side::input;
    return run;
  };
  using model::Phase;
  std::vector<OperatorRun> golden, actual;
  for (std::int64_t step = 0; step < 2; ++step) {
    if (step > 0) golden.push_back(make("print-op0", Phase::forward, step));
    for (std::vector<OperatorRun>* run : {&golden, &actual}) {
      run->push_back(make("mm-op0", Phase::forward, step));
      run->push_back(make("mm_backward-op0", Phase::backward, step));
    }
    golden.push_back(make("add_-op0", Phase::optimizer, step));
    actual.push_back(make("sub_-op0", Phase::forward, step));
    actual.push_back(make("print-op0", Phase::forward, step));
  }
  golden.push_back(make("print-op0", Phase::forward, 2));
  const Pairing pairing = pair_operators(make_runs(golden), make_runs(actual), {{{0, 2}}, {{0, -1}}});
  std::vector<std::pair<std::int64_t, std::int64_t>> prints;  // the steps of pairs
  for (const OperatorPair& pair : pairing.pairs)
    if (pair.is_whole() && golden[pair.golden].type == "print")
      prints.emplace_back(golden[pair.golden].step, actual[pair.actual].step);
  EXPECT_THAT(prints, ElementsAre(std::pair(1, 0), std::pair(2, 1)));
  EXPECT_THAT(pairing.notes, ElementsAre("an optimizer ends the steps of one run alone: the operators of all "
                                         "steps are paired in order"));
  EXPECT_TRUE(pairing.incomplete.empty());
}

}  // namespace opdump::compare
