#include "compare/pairs/frame/moved_modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/read/summary_test.h"

namespace opdump::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using RunSide = MovedModules::RunSide;

struct NameInStep {
  NameInStep(const char* name, std::int64_t step = 0) : name(name), step(step) {}  // NOLINT: one of step 0
  std::string name;
  std::int64_t step;
};

// A run with an operator of each name; its type is the last part without its number.
dump::Runs make_program(const std::vector<NameInStep>& names) {
  dump::Runs runs;
  for (const auto& [name, step] : names) {
    const std::size_t slash = name.rfind('/') + 1;
    dump::OperatorRun run;
    run.name = model::sanitise_name(name);
    run.type = name.substr(slash, name.find("-op", slash) - slash);
    dump::add_run(runs, runs.add_section({.step = step}), run);
    model::Operator op{.type = run.type, .name = name, .source_file = {}};
    runs.set_operator(runs.size() - 1, runs.add_operator(dump::LoggedOperator(std::move(op))));
  }
  runs.sort();
  return runs;
}

TEST(MovedModules, AWrapperIsFound) {
  const auto golden =
      make_program({"Default/fc-Linear/addmm-op0", "Default/act-ReLU/relu-op0", "Default/add-op0"});
  const auto actual = make_program({"Default/module-Net/fc-Linear/addmm-op0",
                                    "Default/module-Net/act-ReLU/relu-op0", "Default/module-Net/add-op0"});
  const auto moved = MovedModules::find(golden, actual);
  EXPECT_THAT(moved.notes(),
              ElementsAre("the root of golden is `module` of actual: 2 modules are paired so"));
  EXPECT_EQ(moved.rename("Default/module-Net/fc-Linear/addmm-op0", RunSide::actual),
            "Default/fc-Linear/addmm-op0");
  EXPECT_EQ(moved.rename("Default/module-Net/add-op0", RunSide::actual), "Default/add-op0");
  EXPECT_EQ(moved.rename("Gradients/Default/module-Net/fc-Linear/mm-op0", RunSide::actual),
            "Gradients/Default/fc-Linear/mm-op0");
  EXPECT_EQ(moved.rename("Default/loss-op0", RunSide::actual), std::nullopt);
  EXPECT_EQ(moved.rename("Default/fc-Linear/addmm-op0", RunSide::golden), std::nullopt);
  // The other way round golden is renamed: what actual has at its root is not in `module`.
  const auto back = MovedModules::find(actual, golden);
  EXPECT_EQ(back.rename("Default/module-Net/fc-Linear/addmm-op0", RunSide::golden),
            "Default/fc-Linear/addmm-op0");
}

TEST(MovedModules, InsideOfAModelAndTwice) {
  const auto golden =
      make_program({"Default/encoder-Net/0-Linear/addmm-op0", "Default/decoder-Net/0-Linear/addmm-op0"});
  const auto actual = make_program({"Default/encoder-Wrap/module-Net/0-Linear/addmm-op0",
                                    "Default/decoder-Wrap/module-Net/0-Linear/addmm-op0"});
  const auto moved = MovedModules::find(golden, actual);
  EXPECT_EQ(moved.notes().size(), 2u);
  EXPECT_EQ(moved.rename("Default/decoder-Wrap/module-Net/0-Linear/addmm-op0", RunSide::actual),
            "Default/decoder-Net/0-Linear/addmm-op0");
}

TEST(MovedModules, OtherOperatorsAreOtherModules) {
  const auto golden = make_program({"Default/a-Net/0-Linear/addmm-op0"});
  const auto actual = make_program({"Default/b-Net/0-Conv2d/convolution-op0"});
  EXPECT_THAT(MovedModules::find(golden, actual).notes(), IsEmpty());
}

TEST(MovedModules, AModelBuiltAnewIsTheModel) {
  const auto golden = make_program({{"Default/fc-Linear/addmm-op0", 0}, {"Default/fc-Linear/addmm-op0", 1}});
  const auto actual =
      make_program({{"Default/fc-Linear/addmm-op0", 0}, {"Default/Net/fc-Linear/addmm-op0", 1}});
  const auto moved = MovedModules::find(golden, actual);
  EXPECT_THAT(moved.notes(), ElementsAre("the root of golden is `Net` of actual: 1 module is paired so"));
  EXPECT_EQ(moved.rename("Default/Net/fc-Linear/addmm-op0", RunSide::actual), "Default/fc-Linear/addmm-op0");
  EXPECT_EQ(MovedModules::find(actual, golden).rename("Default/Net/fc-Linear/addmm-op0", RunSide::golden),
            "Default/fc-Linear/addmm-op0");
}

TEST(MovedModules, ASecondModelBesideTheFirstMovesNothing) {
  const auto golden = make_program({{"Default/fc-Linear/addmm-op0", 0}, {"Default/fc-Linear/addmm-op0", 1}});
  const auto beside = make_program({{"Default/fc-Linear/addmm-op0", 0},
                                    {"Default/fc-Linear/addmm-op0", 1},
                                    {"Default/Net/fc-Linear/addmm-op0", 1}});
  EXPECT_TRUE(MovedModules::find(golden, beside).empty());
  // Golden ends before it runs.
  const auto behind =
      make_program({{"Default/fc-Linear/addmm-op0", 0}, {"Default/Net/fc-Linear/addmm-op0", 2}});
  EXPECT_TRUE(MovedModules::find(golden, behind).empty());
}

TEST(MovedModules, AModuleOfAnotherClassIsTheSame) {
  const auto golden = make_program({"Default/a-Eager/q-Linear/addmm-op0", "Default/a-Eager/softmax-op0",
                                    "Default/a-Eager/bmm-op0", "Default/f-ReLU/relu-op0"});
  const auto actual = make_program({"Default/a-Fast/q-Linear/addmm-op0", "Default/a-Fast/softmax-op0",
                                    "Default/a-Fast/bmm-op0", "Default/f-GELU/gelu-op0"});
  const auto moved = MovedModules::find(golden, actual);
  EXPECT_THAT(moved.notes(), ElementsAre("`a` is of class Eager in golden and Fast in actual"));
  EXPECT_EQ(moved.rename("Default/a-Fast/q-Linear/addmm-op0", RunSide::actual),
            "Default/a-Eager/q-Linear/addmm-op0");
  EXPECT_EQ(moved.rename("Default/a-Eager/q-Linear/addmm-op0", RunSide::golden), std::nullopt);
  // What computes something else is another module.
  EXPECT_EQ(moved.rename("Default/f-GELU/gelu-op0", RunSide::actual), std::nullopt);
}

TEST(MovedModules, AModuleMoreMovesNothing) {
  const auto golden = make_program({"Default/0-Linear/addmm-op0", "Default/1-Linear/addmm-op0"});
  const auto actual = make_program(
      {"Default/0-Linear/addmm-op0", "Default/1-Linear/addmm-op0", "Default/extra-Net/0-Linear/addmm-op0"});
  EXPECT_TRUE(MovedModules::find(golden, actual).empty());
}

}  // namespace
}  // namespace opdump::compare
