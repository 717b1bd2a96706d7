#include "capture/graph/step_graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/recording_fixture_test.h"

namespace opdump::capture {
namespace {

using testing::ElementsAre;

class StepGraphsTest : public RecordingTest {
 protected:
  std::unique_ptr<StepGraphs> make(StepGraphs::Options options) {
    start();
    options.report_unseen = [this](std::string_view what, std::string_view) { unseen_.emplace_back(what); };
    return std::make_unique<StepGraphs>(plan_, std::move(options), *rules_, state_, *operators_);
  }

  static StepGraphs::Options report_steps() {
    StepGraphs::Options options;
    options.reports_steps = true;
    return options;
  }

  static StepGraphs::Options write_ge_graphs(dump::GeGraphSettings settings) {
    StepGraphs::Options options;
    options.ge_graphs = std::move(settings);
    return options;
  }

  void run(StepGraphs& graphs, const DefinedOperator& op, const std::vector<Operand>& inputs,
           const std::vector<Operand>& outputs) {
    CallPointer call = make_call(op);
    graphs.begin(*call, inputs);
    graphs.end(*call, outputs);
  }

  Operand value(std::uint64_t number) const {
    Operand operand = make_operand(values_);
    operand.value = number;
    return operand;
  }

  std::vector<float> values_{1, 2};
  std::vector<std::string> unseen_;
};

TEST_F(StepGraphsTest, AStepIsTheGraphOfItsOperators) {
  const auto graphs = make(report_steps());
  EXPECT_FALSE(graphs->end_step({}));
  const DefinedOperator &a = define("a"), &b = define("b");
  const auto run_both = [&] {
    run(*graphs, a, {value(1)}, {value(2)});
    run(*graphs, b, {value(2)}, {value(3)});
    return graphs->end_step({});
  };
  const auto first = run_both();
  ASSERT_TRUE(first && first->is_new && first->graph);
  EXPECT_EQ(first->graph->nodes.size(), 2u);
  const auto second = run_both();
  ASSERT_TRUE(second && !second->is_new);
  EXPECT_EQ(second->graph_id, first->graph_id);
  EXPECT_EQ(graphs->expected_graph(), first->graph_id);
  run(*graphs, a, {}, {value(2)});
  const auto third = graphs->end_step({});
  ASSERT_TRUE(third && third->is_new);
  EXPECT_NE(third->graph_id, first->graph_id);
}

TEST_F(StepGraphsTest, ACallWhoseOutputsComeLaterIsLoggedWhenItReturns) {
  const auto graphs = make(report_steps());
  CallPointer call = make_call(define("a"));
  graphs->begin(*call, {});
  EXPECT_TRUE(call->is_first);
  const std::vector<Operand> outputs{value(1)};
  graphs->returned(*call, outputs);
  graphs->end(*call, outputs);
  const auto ended = graphs->end_step({});
  ASSERT_TRUE(ended && ended->graph);
  EXPECT_EQ(ended->graph->nodes.size(), 1u);
}

TEST_F(StepGraphsTest, ParametersAreCopiesAsTheyEnteredTheStep) {
  plan_.parameters = true;
  const auto graphs = make(report_steps());
  Operand weight = value(1);
  weight.name = graphs->keep_name("weight");
  weight.role = model::GraphParameter::Role::weight;
  EXPECT_EQ(graphs->keep_name("weight"), weight.name);
  run(*graphs, define("a"), {weight, value(2)}, {value(3)});
  values_[0] = 5;  // by the program
  const std::vector<Parameter> parameters = graphs->release_parameters();
  ASSERT_EQ(parameters.size(), 1u);
  EXPECT_STREQ(parameters[0].name, "weight");
  EXPECT_EQ(*reinterpret_cast<const float*>(parameters[0].operand.view.data), 1);
  EXPECT_TRUE(graphs->release_parameters().empty());
}

TEST_F(StepGraphsTest, LentParametersAreKeptAliveUntilTheStepEnds) {
  plan_.parameters = true;
  static int lent = 0;
  auto options = report_steps();
  options.lender = {[](void*) { ++lent; }, [](void*) { --lent; }};
  const auto graphs = make(options);
  Operand weight = value(1);
  weight.name = graphs->keep_name("weight");
  weight.role = model::GraphParameter::Role::weight;
  weight.owner = &lent;
  run(*graphs, define("a"), {weight}, {});
  EXPECT_EQ(lent, 1);
  EXPECT_EQ(graphs->release_parameters()[0].operand.view.data, weight.view.data);
  EXPECT_EQ(lent, 0);
}

TEST_F(StepGraphsTest, TheGraphsOfModelsAreFilesBesideTheRecording) {
  dump::GeGraphSettings settings;
  settings.content = dump::GeGraphSettings::GraphContent::without_weights;
  settings.directory = directory_.path() / "graphs";
  const auto graphs = make(write_ge_graphs(settings));
  const DefinedOperator& op =
      *operators_->define(model::Operator{.type = "Add", .name = "a", .graph_id = 4, .source_file = {}});
  graphs->enter_model(4);
  run(*graphs, op, {value(1)}, {value(2)});
  EXPECT_FALSE(std::filesystem::exists(settings.directory));
  graphs->end_model();
  EXPECT_FALSE(std::filesystem::is_empty(settings.directory));
  EXPECT_THAT(unseen_, ElementsAre());
}

TEST_F(StepGraphsTest, GraphFilesThatCannotBeWrittenAreReportedOnce) {
  dump::GeGraphSettings settings;
  settings.content = dump::GeGraphSettings::GraphContent::without_weights;
  settings.directory = "/proc/opdump";
  auto options = write_ge_graphs(settings);
  options.reports_steps = true;
  const auto graphs = make(options);
  for (const char* name : {"a", "b"}) {
    run(*graphs, define(name), {}, {value(1)});
    EXPECT_TRUE(graphs->end_step({}));
  }
  EXPECT_THAT(unseen_, ElementsAre("graphs for DUMP_GE_GRAPH"));
}

}  // namespace
}  // namespace opdump::capture
