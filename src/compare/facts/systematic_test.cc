#include "compare/facts/systematic.h"

#include "compare/pairs/pairing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/read/summary_test.h"

namespace opdump::compare {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

dump::OperatorRun make_run(const std::string& name, model::Shape shape = {2, 3},
                           model::DType dtype = model::DType::float32) {
  dump::OperatorRun run;
  run.name = model::sanitise_name(name);
  run.type = name.substr(name.rfind('/') + 1);
  dump::Slot slot;
  slot.side = model::Side::output;
  slot.shape = std::move(shape);
  slot.dtype = dtype;
  slot.file = "never read";
  run.slots.push_back(slot);
  model::Operator op;
  op.name = name;
  run.op = std::make_shared<const dump::LoggedOperator>(std::move(op));
  return run;
}

dump::Runs make_runs(const std::vector<dump::OperatorRun>& list) {
  dump::Runs runs;
  for (const dump::OperatorRun& run : list) {
    dump::add_run(runs, runs.add_section({run.rank, run.graph_id, run.step}), run);
    runs.set_operator(runs.size() - 1, runs.add_operator(*run.op));
  }
  runs.sort();
  return runs;
}

SystematicDifferences find(const std::vector<dump::OperatorRun>& golden,
                           const std::vector<dump::OperatorRun>& actual, const Unfinished& unfinished = {}) {
  const dump::Runs g = make_runs(golden), a = make_runs(actual);
  return find_systematic(g, a, pair_operators(g, a).pairs, unfinished);
}

TEST(Systematic, NothingInEqualRuns) {
  const std::vector<dump::OperatorRun> runs{make_run("Default/a/mm-op0"), make_run("Default/mm-op0")};
  EXPECT_THAT(find(runs, runs).notes, IsEmpty());
}

// A region of compiled code that is one operator is named instead of the modules in it.
TEST(Systematic, CompiledRegions) {
  const std::vector<dump::OperatorRun> eager{make_run("Default/a/mm-op0"), make_run("Default/b/relu-op0"),
                                             make_run("Default/sum-op0")};
  dump::OperatorRun region = make_run("Default/compiled_0_0-op0");
  region.type = "compiled_0_0";
  const std::vector<dump::OperatorRun> compiled{region, make_run("Default/sum-op0")};
  const std::string regions =
      " has 1 compiled region as one operator; --compiled aten records the operators in it, run without the "
      "generated kernels";
  EXPECT_THAT(find(eager, compiled).notes, ElementsAre("actual" + regions));
  EXPECT_THAT(find(compiled, eager).notes, ElementsAre("golden" + regions));
}

TEST(Systematic, AnotherBatch) {
  EXPECT_THAT(find({make_run("Default/a/mm-op0", {2, 8}), make_run("Default/b/mm-op0", {2, 5}),
                    make_run("Default/b/view-op0", {20, 5}), make_run("Default/weight-op0", {8, 5})},
                   {make_run("Default/a/mm-op0", {4, 8}), make_run("Default/b/mm-op0", {4, 5}),
                    make_run("Default/b/view-op0", {40, 5}), make_run("Default/weight-op0", {8, 5})})
                  .notes,
              ElementsAre("batch 2 against 4: the first axis of 2 outputs"));
  std::vector<dump::OperatorRun> golden(100, make_run("Default/a/mm-op0", {8, 8})), actual = golden;
  for (std::size_t i : {4, 7}) actual[i] = make_run("Default/a/mm-op0", {7, 8});
  EXPECT_THAT(find(golden, actual).notes, IsEmpty());  // of 100 outputs: rows of an expert
  // One operator with another shape is a fault of its own.
  EXPECT_THAT(find({make_run("Default/a/mm-op0", {2, 8})}, {make_run("Default/a/mm-op0", {4, 8})}).notes,
              IsEmpty());
}

TEST(Systematic, AnAbsentModuleWithWhatIsInIt) {
  const std::vector<dump::OperatorRun> whole{make_run("Default/blocks/0-Block/fc-Linear/mm-op0"),
                                             make_run("Default/blocks/1-Block/fc-Linear/mm-op0"),
                                             make_run("Default/blocks/1-Block/relu-op0"),
                                             make_run("Default/head-Linear/mm-op0"),
                                             make_run("Gradients/Default/head-Linear/mm-op0"),
                                             make_run("Gradients/Default/blocks/1-Block/relu-op0")},
      part{whole[0], whole[3], whole[4]};
  EXPECT_THAT(find(whole, part).notes,
              ElementsAre("module Default/blocks/1-Block is absent in actual (3 operators)"));
  EXPECT_THAT(find(part, whole).notes,
              ElementsAre("module Default/blocks/1-Block is absent in golden (3 operators)"));
  // A recording that ended early says nothing about what is absent.
  EXPECT_THAT(find(whole, part, {.actual = {0}}).notes, IsEmpty());
}

TEST(Systematic, AnotherPrecision) {
  const SystematicDifferences found = find({make_run("Default/a-op0"), make_run("Default/b-op0")},
                                           {make_run("Default/a-op0", {2, 3}, model::DType::bfloat16),
                                            make_run("Default/b-op0", {2, 3}, model::DType::bfloat16)});
  EXPECT_TRUE(found.are_types_usual);
  EXPECT_THAT(found.notes, Contains("golden is float32 and actual bfloat16 in 2 operators"));
  // Weights are made in float32 and cast; the modules compute in bfloat16.
  std::vector<dump::OperatorRun> golden{make_run("Default/a-Linear/mm-op0"), make_run("Default/normal_-op0"),
                                        make_run("Default/normal_-op1")},
      actual = golden;
  actual[0] = make_run("Default/a-Linear/mm-op0", {2, 3}, model::DType::bfloat16);
  EXPECT_TRUE(find(golden, actual).are_types_usual);
}

}  // namespace
}  // namespace opdump::compare
