// What a session makes of the graph: steps, parameters, constants; and the arguments of operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "base/file/file.h"
#include "capture/session_fixture_test.h"
#include "dump/write/graph_files.h"

namespace opdump::capture {
namespace {

using model::GraphParameter;
using testing::IsEmpty;
using testing::SizeIs;

using SessionGraphTest = GraphSessionTest;

TEST_F(SessionGraphTest, StepsOfOtherOperatorsAreOtherGraphs) {
  auto session = open(graph_plan(), graph_options());
  run_step(*session, {"a", "b"}, 0);
  run_step(*session, {"a", "b"}, 1);
  run_step(*session, {"a"}, 2);
  run_step(*session, {"b", "a"}, 3);
  ASSERT_TRUE(session->close());
  std::map<std::int64_t, std::int64_t> graph_of;
  const dump::DumpSet set = read();
  for (const dump::OperatorRun& run : set.runs()) {
    const auto [known, is_new] = graph_of.try_emplace(run.step, run.graph_id);
    EXPECT_TRUE(is_new || known->second == run.graph_id) << "a step in two graphs";
    EXPECT_EQ(values_of(run.slots.at(0))[0], static_cast<float>(run.step));
  }
  EXPECT_EQ(graph_of, (std::map<std::int64_t, std::int64_t>{{0, 0}, {1, 0}, {2, 1}, {3, 0}}));
  const auto graphs = dump::read_graphs(root_ / "rank_0");
  ASSERT_TRUE(graphs);
  EXPECT_THAT(graphs->problems, IsEmpty());
  ASSERT_THAT(graphs->files, SizeIs(2));
  EXPECT_THAT(graphs->files[0].order, ElementsAre("a", "b"));
  EXPECT_THAT(graphs->files[0].history, ElementsAre(0, 1, 3));
  EXPECT_THAT(graphs->files[1].order, ElementsAre("a"));
  EXPECT_THAT(graphs->files[1].history, ElementsAre(2));
}

TEST_F(SessionGraphTest, RowsOfAStepThatMovesStayTogether) {
  plan::DumpPlan plan = graph_plan();
  plan.content = plan::Content::both;
  auto session = open(std::move(plan), graph_options());
  run_step(*session, {"a", "b"}, 0);
  for (int step = 1; step < 6; ++step) run_step(*session, {step % 2 ? "a" : "b"}, step);
  ASSERT_TRUE(session->close());
  for (int step = 1; step < 6; ++step) {
    const fs::path directory = root_ / "rank_0/net" / (step % 2 ? "1" : "2") / std::to_string(step);
    std::ifstream table(directory / "statistic.csv");
    std::vector<std::string> lines;
    for (std::string line; std::getline(table, line);) lines.push_back(line);
    ASSERT_THAT(lines, SizeIs(3)) << directory;
    EXPECT_TRUE(lines[0].starts_with("Op Type,"));
    EXPECT_EQ(std::distance(fs::directory_iterator(directory), fs::directory_iterator()), 3);
  }
}

TEST_F(SessionGraphTest, OperatorsThatAreNotDumpedAreInTheGraph) {
  plan::DumpPlan plan = graph_plan();
  ASSERT_TRUE(plan.operators.add(plan::RuleKind::type, "relu"));
  auto session = open(std::move(plan), graph_options());
  const DefinedOperator* other = define(*session, "Default/addmm-op0");
  EXPECT_TRUE(session->wants(other).call) << "for the graph";
  EXPECT_TRUE(session->wants(other).arguments);
  run_step(*session, {"Default/addmm-op0", "Default/relu-op0"}, 0);
  EXPECT_FALSE(session->wants(other).arguments) << "they are known now";
  ASSERT_TRUE(session->close());
  EXPECT_THAT(describe(read()), ElementsAre("Default_relu-op0 in0 out0"));
  EXPECT_THAT(dump::read_graphs(root_ / "rank_0")->files.at(0).order,
              ElementsAre("Default/addmm-op0", "Default/relu-op0"));
}

TEST_F(SessionGraphTest, AnEngineThatTellsNoGraphHasNone) {
  auto session = open(graph_plan());
  run_step(*session, {"a"}, 0);
  ASSERT_TRUE(session->close());
  EXPECT_FALSE(fs::exists(root_ / "rank_0/graphs"));
}

TEST_F(SessionGraphTest, AFailedCallIsNotInTheGraph) {
  auto session = open(graph_plan(), graph_options());
  const Floats x({4}, 1);
  run(*session, define(*session, "good"), {x.operand(0)}, {});
  run(*session, define(*session, "bad"), {x.operand(0)}, {}, true);
  ASSERT_TRUE(session->close());
  EXPECT_THAT(dump::read_graphs(root_ / "rank_0")->files.at(0).order, ElementsAre("good"));
}

TEST_F(SessionGraphTest, ParametersAreThoseOfTheEndOfTheStep) {
  for (const bool input_parameters : {true, false}) {
    plan::DumpPlan plan = graph_plan();
    plan.root = root_ = directory_.path() / (input_parameters ? "cpu" : "gpu");
    plan.parameters = true;
    plan.input_parameters = input_parameters;
    auto session = open(std::move(plan), graph_options());
    Floats weight({40'000}, 1);
    Floats x({4}, 2);
    Operand w = lend(weight, 0, 7), in = x.operand(1), two = x.operand(2);
    w.name = "fc.weight";
    w.role = GraphParameter::Role::weight;
    in.name = "x";  // not lent: copied when it is met
    in.value = 5;
    two.role = GraphParameter::Role::constant;
    two.view.shape = model::Shape{};
    two.value = 6;
    run(*session, define(*session, "add"), {w, in, two}, {});
    run(*session, define(*session, "again"), {w}, {});
    std::ranges::fill(x.values, -1.0f);
    session->before_write(7);
    std::ranges::fill(weight.values, 3.0f);  // the optimizer
    session->set_step(1);
    ASSERT_TRUE(session->close());
    EXPECT_EQ(lent, 0);
    std::map<std::string, float> parameters;
    const dump::DumpSet set = read();
    for (const dump::OperatorRun& run : set.runs())
      if (run.type == "Parameter") {
        EXPECT_TRUE(parameters.emplace(run.name, values_of(run.slots.at(0))[0]).second) << "once a step";
        EXPECT_EQ(run.slots[0].side, Side::output);
      }
    std::map<std::string, float> expected{{"fc_weight", 3}, {"data-0", 2}};
    if (input_parameters) expected.emplace("x", 2);
    EXPECT_EQ(parameters, expected);
    const fs::path constants = root_ / "rank_0/net/0/constants";
    ASSERT_TRUE(fs::exists(constants));
    EXPECT_THAT(fs::directory_iterator(constants)->path().filename().string(),
                HasSubstr("Parameter.data-0.0.0."));
  }
}

// Where only an operator that fails is dumped, parameters are as ever, and do not hold up what follows.
TEST_F(SessionGraphTest, ParametersBesideAFailure) {
  plan::DumpPlan plan = graph_plan();
  plan.debug = plan::DebugMode::exception;
  plan.sides = plan::Sides::inputs;
  plan.parameters = true;
  auto session = open(std::move(plan), graph_options());
  const Floats weight({4}, 3);
  Operand w = weight.operand(0);
  w.name = "fc.weight";
  w.role = GraphParameter::Role::weight;
  run(*session, define(*session, "good"), {w}, {});
  session->set_step(1);
  run(*session, define(*session, "bad"), {w}, {}, true);
  ASSERT_TRUE(session->close());
  std::vector<std::string> names;
  const dump::DumpSet set = read();
  for (const dump::OperatorRun& run : set.runs()) names.push_back(std::to_string(run.step) + " " + run.name);
  EXPECT_THAT(names, ElementsAre("0 fc_weight", "1 bad", "1 fc_weight"));
}

// Memory that cannot be kept is copied when an operator returns it; and a weight may get other memory.
TEST_F(SessionGraphTest, ParametersThatCannotBeKeptOrMove) {
  plan::DumpPlan plan = graph_plan();
  plan.parameters = true;
  auto session = open(std::move(plan), graph_options());
  Floats foreign({8}, 1), before({8}, 1), after({8}, 2);
  const auto weight = [](Operand operand, const char* name, std::uint64_t block) {
    operand.name = name;
    operand.role = GraphParameter::Role::weight;
    operand.block = block;
    return operand;
  };
  const Operand f = weight(foreign.operand(0), "foreign", 1);
  const Operand b = weight(lend(before, 1, 7), "moved", 2), a = weight(lend(after, 1, 8), "moved", 3);
  run(*session, define(*session, "use"), {f, b}, {});
  std::ranges::fill(foreign.values, 3.0f);
  run(*session, define(*session, "optimizer"), {f, a}, {f, a});
  std::ranges::fill(foreign.values, -1.0f);  // it is gone
  std::ranges::fill(after.values, 4.0f);
  session->set_step(1);
  ASSERT_TRUE(session->close());
  EXPECT_EQ(lent, 0);
  std::map<std::string, float> parameters;
  const dump::DumpSet set = read();
  for (const dump::OperatorRun& run : set.runs())
    if (run.type == "Parameter") parameters.emplace(run.name, values_of(run.slots.at(0))[0]);
  EXPECT_EQ(parameters, (std::map<std::string, float>{{"foreign", 3}, {"moved", 4}}));
}

TEST_F(SessionGraphTest, AnOperatorWhoseOutputsComeLater) {
  auto session = open(graph_plan(), graph_options());
  Floats x({4}, 1), sum({4}, 0);
  Call* call = session->begin(define(*session, "reduce"), std::vector<Operand>{x.operand(0)});
  session->returned(*call, std::vector<Operand>{sum.operand(0)});
  run(*session, define(*session, "other"), {x.operand(0)}, {});
  std::ranges::fill(sum.values, 2.0f);
  session->end(call, std::vector<Operand>{sum.operand(0)}, false);
  ASSERT_TRUE(session->close());
  EXPECT_THAT(dump::read_graphs(root_ / "rank_0")->files.at(0).order, ElementsAre("reduce", "other"));
  const dump::DumpSet set = read();
  for (const dump::OperatorRun& run : set.runs())
    if (run.name == "reduce") {
      EXPECT_EQ(values_of(run.slots.at(1))[0], 2);
    }
}

TEST_F(SessionGraphTest, ParametersAndConstantsAreChosenByTheirNames) {
  for (const std::string wanted : {"Default/data-0", "fc.weight"}) {
    plan::DumpPlan plan = graph_plan();
    plan.root = root_ = directory_.path() / wanted.substr(0, 2);
    plan.parameters = true;
    ASSERT_TRUE(plan.operators.add(plan::RuleKind::name, wanted));
    auto session = open(std::move(plan), graph_options());
    const Floats x({1}, 1);
    Operand w = x.operand(0), two = x.operand(1);
    w.name = "fc.weight";
    w.role = GraphParameter::Role::weight;
    two.role = GraphParameter::Role::constant;
    run(*session, define(*session, "add"), {w, two}, {});
    ASSERT_TRUE(session->close());
    EXPECT_EQ(fs::exists(root_ / "rank_0/net/0/constants"), wanted == "Default/data-0");
    EXPECT_EQ(fs::exists(root_ / "rank_0/net/0/0"), wanted != "Default/data-0");
  }
}

// A view that is not dumped may say what its parameter looks like.
TEST_F(SessionGraphTest, AParameterBehindAView) {
  plan::DumpPlan plan = graph_plan();
  plan.parameters = true;
  auto session = open(std::move(plan), graph_options());
  const Floats weight({2, 3}, 1);
  Operand whole = lend(weight, 0, 7), transposed = lend(weight, 0, 7);
  whole.name = transposed.name = "fc.weight";
  whole.role = transposed.role = GraphParameter::Role::weight;
  whole.undumped = "view";
  transposed.view.shape = {3, 2};
  transposed.view.strides = {1, 3};
  run(*session, define(*session, "t", "t"), {whole}, {});
  run(*session, define(*session, "mm", "mm"), {transposed}, {});
  ASSERT_TRUE(session->close());
  EXPECT_EQ(lent, 0);
  const dump::DumpSet set = read();
  for (const dump::OperatorRun& run : set.runs()) {
    if (run.type != "Parameter") continue;
    EXPECT_EQ(run.slots.at(0).shape, (Shape{2, 3}));
  }
  EXPECT_EQ(std::ranges::count_if(set.runs(), [](const auto& run) { return run.type == "Parameter"; }), 1);
}

TEST_F(SessionGraphTest, ArgumentsLieBesideTheTensors) {
  plan::DumpPlan plan = make_plan(plan::Content::statistics);
  plan.operator_arguments = true;
  auto session = open(std::move(plan));
  const DefinedOperator* op = define(*session, "Default/sum-op0", "sum");
  EXPECT_TRUE(session->wants(op).arguments);
  const Floats x({4}, 1);
  for (int i = 0; i < 2; ++i) {  // also when it runs again
    const Operand input = x.operand(0);
    Call* call = session->begin(op, {&input, 1});
    ASSERT_TRUE(call);
    session->set_arguments(*call, {.arguments = {{.name = "keepdim", .value = true},
                                                 {.name = "dim", .value = std::int64_t{1}},
                                                 {.name = "self", .value = model::Argument::Tensor{0}}}});
    session->end(call, {}, false);
  }
  ASSERT_TRUE(session->close());
  EXPECT_EQ(*read_file(root_ / "rank_0/net/0/0/sum.Default_sum-op0.json", 1000),
            "{\n    \"dim\": \"1\",\n    \"keepdim\": \"True\"\n}");
}

// Variables of the process, while a test runs.
class Variables {
 public:
  explicit Variables(std::map<std::string, std::string> values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : values_) ::unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::map<std::string, std::string> values_;
};

const DefinedOperator* define_in(Session& session, std::int64_t model, std::string name) {
  return session.define(
      model::Operator{.type = "Relu", .name = std::move(name), .graph_id = model, .source_file = {}});
}

// An engine that reports no graphs: each of its models is one.
TEST_F(SessionGraphTest, ModelsForDumpGeGraph) {
  const fs::path directory = directory_.path() / "ge";
  const Variables variables(
      {{"DUMP_GE_GRAPH", "1"}, {"DUMP_GRAPH_LEVEL", "3"}, {"ASCEND_WORK_PATH", directory}});
  plan::DumpPlan plan = make_plan(plan::Content::tensor);
  plan.net_name = "net";
  auto session = open(std::move(plan));
  session->define_graph(7, "resnet", "r");
  session->define_graph(8, "bert", "b");
  const Floats x({2}), weight({2}, 0.5);
  Operand in = x.operand(0), held = weight.operand(1), out = x.operand(0);
  in.value = 1, held.value = 2, out.value = 3;
  held.name = "w";
  held.role = GraphParameter::Role::weight;
  for (int step = 0; step < 2; ++step) {
    session->set_step(step);
    run(*session, define_in(*session, 7, "a"), {in, held}, {out});
    run(*session, define_in(*session, model::kAnyGraph, "alone"), {in}, {out});
    run(*session, define_in(*session, 7, "b"), {out}, {in});
    run(*session, define_in(*session, 8, "c"), {in}, {out});
  }
  ASSERT_TRUE(session->close());
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::UnorderedElementsAre(
                         "ge_proto_00000000_graph_7_Build.txt", "ge_onnx_00000000_graph_7_Build.pbtxt",
                         "ge_proto_00000001_graph_8_Build.txt", "ge_onnx_00000001_graph_8_Build.pbtxt"));
  const std::string text = *read_file(directory / "ge_proto_00000000_graph_7_Build.txt", 1 << 20);
  EXPECT_THAT(text, HasSubstr("graph {\n  name: \"net\"\n"));
  EXPECT_THAT(text, HasSubstr("name: \"b\"\n    type: \"Relu\"\n    input: \"a:0\""));
  EXPECT_THAT(text, HasSubstr("data: \"\\000\\000\\000?\\000\\000\\000?\""));
  EXPECT_THAT(text, testing::Not(HasSubstr("alone")));
}

// No directory bears the name of a program whose operators are all dumped as operators of no model.
TEST_F(SessionGraphTest, GraphsOfAProgramThatSelectsNoModelsHaveItsName) {
  for (const std::string name : {"train", ""}) {
    const fs::path directory = directory_.path() / ("ge" + name);
    const Variables variables(
        {{"DUMP_GE_GRAPH", "2"}, {"DUMP_GRAPH_LEVEL", "3"}, {"ASCEND_WORK_PATH", directory}});
    plan::DumpPlan plan = make_plan(plan::Content::tensor);
    plan.scheme = plan::SchemeKind::acl_tree;
    plan.file_format = plan::FileFormat::bin;
    plan.net_name = "graph";
    plan.models.select_no_models();
    auto session = open(std::move(plan), graph_options());
    session->define_graph(0, "", name);
    run_step(*session, {"a"}, 0);
    ASSERT_TRUE(session->close());
    const std::string text = *read_file(directory / "ge_proto_00000000_graph_0_Build.txt", 1 << 20);
    EXPECT_THAT(text, HasSubstr("graph {\n  name: \"" + (name.empty() ? "graph" : name) + "\"\n"));
  }
}

// Executions of a model with other shapes, and one that fails before its end.
TEST_F(SessionGraphTest, TheGraphOfAModelIsThatOfItsLongestExecution) {
  const fs::path directory = directory_.path() / "ge";
  const Variables variables(
      {{"DUMP_GE_GRAPH", "2"}, {"DUMP_GRAPH_LEVEL", "3"}, {"ASCEND_WORK_PATH", directory}});
  auto session = open(make_plan(plan::Content::tensor));
  session->define_graph(7, "net", "");
  const std::uint64_t outputs[] = {2};
  session->define_outputs(7, outputs);
  const auto execute = [&](std::int64_t step, std::int64_t size, bool fails) {
    session->set_step(step);
    const Floats x({size}), y({size});
    Operand in = x.operand(0), out = y.operand(0);
    in.value = 1, out.value = 2;
    run(*session, define_in(*session, 7, "a"), {in}, {out});
    in.value = 2, out.value = 3;
    if (!fails) run(*session, define_in(*session, 7, "b"), {in}, {out});
  };
  execute(0, 2, true);
  execute(1, 2, false);
  execute(2, 3, false);
  execute(3, 3, true);
  ASSERT_TRUE(session->close());
  const std::string text = *read_file(directory / "ge_proto_00000000_graph_7_Build.txt", 1 << 20);
  EXPECT_THAT(text, HasSubstr("  output: \"a:0\"\n"));
  EXPECT_THAT(text, HasSubstr("name: \"b\""));
  EXPECT_THAT(text, HasSubstr("dim: -1"));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), fs::directory_iterator()), 2);
}

}  // namespace
}  // namespace opdump::capture
