// What MindSpore's modes ask of a session: overflow, exception, containers, flags, graphs, parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>

#include "base/file.h"
#include "capture/session_fixture_test.h"
#include "dump/graph_files.h"

namespace opdump::capture {
namespace {

using model::GraphParameter;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::atomic<int> lent{0};
SessionOptions graph_options() {
  SessionOptions options;
  options.tells_graph = true;
  options.retain = [](void*) { ++lent; };
  options.release = [](void*) { --lent; };
  return options;
}

std::vector<float> values_of(const dump::Slot& slot) {
  auto stored = dump::StoredTensor::read(slot);
  EXPECT_TRUE(stored) << stored.error().message();
  std::vector<float> values(stored->view().element_count());
  std::memcpy(values.data(), stored->view().data, values.size() * sizeof(float));
  return values;
}

// "type input.0 input.1 output.0" of each execution.
std::vector<std::string> describe(const dump::DumpSet& set) {
  std::vector<std::string> lines;
  for (const dump::OperatorRun& run : set.runs()) {
    std::string line = run.name;
    for (const dump::Slot& slot : run.slots)
      line += (slot.side == Side::input ? " in" : " out") + std::to_string(slot.index);
    lines.push_back(std::move(line));
  }
  return lines;
}

class SessionModesTest : public SessionTest {
 protected:
  plan::DumpPlan debug_plan(plan::DebugMode mode, plan::Content content = plan::Content::tensor) {
    plan::DumpPlan plan = make_plan(content);
    plan.debug = mode;
    return plan;
  }

  plan::DumpPlan graph_plan() {
    plan::DumpPlan plan = make_plan(plan::Content::tensor);
    plan.graphs = plan.run_metadata = true;
    return plan;
  }

  static void run_step(Session& session, std::initializer_list<const char*> names, std::int64_t step) {
    session.set_step(step);
    const Floats x({4}, static_cast<float>(step));
    for (const char* name : names) run(session, define(session, name), {x.operand(0)}, {x.operand(0)});
  }

  static Operand lend(const Floats& memory, std::uint32_t index, std::uint64_t content) {
    Operand operand = memory.operand(index, content);
    operand.owner = &lent;
    return operand;
  }
};

// ------------------------------------------------------------------ overflow

TEST_F(SessionModesTest, OnlyOperatorsThatOverflowAreKept) {
  auto session = open(debug_plan(plan::DebugMode::overflow, plan::Content::both));
  const Floats one({8}, 1), infinite({8}, kInfinity), nan({8}, std::numeric_limits<float>::quiet_NaN());
  run(*session, define(*session, "fine"), {one.operand(0)}, {one.operand(0)});
  run(*session, define(*session, "bad"), {one.operand(0), one.operand(1)}, {infinite.operand(0)});
  run(*session, define(*session, "second"), {one.operand(0)}, {one.operand(0), nan.operand(1)});
  run(*session, define(*session, "input only"), {infinite.operand(0)}, {one.operand(0)});
  ASSERT_TRUE(session->close());
  EXPECT_THAT(describe(read()), ElementsAre("bad in0 in1 out0", "second in0 out0 out1"));
  EXPECT_EQ(status().call_count, 2u);
  EXPECT_EQ(status().row_count, 6u);
}

TEST_F(SessionModesTest, IntegersDoNotOverflow) {
  auto session = open(debug_plan(plan::DebugMode::overflow));
  Floats bits({2}, kInfinity);
  Operand integers = bits.operand(0);
  integers.view.dtype = DType::int32;
  run(*session, define(*session, "a"), {}, {integers});
  std::vector<double> wide(4, std::numeric_limits<double>::infinity());
  Operand doubles = bits.operand(0);
  doubles.view = TensorView::row_major(DType::float64, {4}, wide.data());
  run(*session, define(*session, "b"), {}, {doubles});
  ASSERT_TRUE(session->close());
  EXPECT_THAT(describe(read()), ElementsAre("b out0"));
}

// What was not dumped of operators that nobody asked for is of no interest.
TEST_F(SessionModesTest, ReasonsAreThoseOfOperatorsThatOverflow) {
  auto session = open(debug_plan(plan::DebugMode::overflow));
  const Floats one({8}, 1), infinite({8}, kInfinity);
  Operand sparse = one.operand(1);
  const std::string reason = "sparse";
  sparse.undumped = reason;
  run(*session, define(*session, "view"), {sparse}, {one.operand(0)});
  run(*session, define(*session, "bad"), {one.operand(0), sparse}, {infinite.operand(0)});
  ASSERT_TRUE(session->close());
  const dump::DumpSet set = read();
  EXPECT_THAT(describe(set), ElementsAre("bad in0 in1 out0"));
  EXPECT_EQ(set.runs()[0].slots[1].undumped_reason, "sparse");
}

TEST_F(SessionModesTest, SoManyOverflowsAndNoMore) {
  plan::DumpPlan plan = debug_plan(plan::DebugMode::overflow);
  plan.overflow_limit = 2;
  auto session = open(std::move(plan));
  const Floats one({8}, 1), infinite({8}, kInfinity);
  for (int i = 0; i < 5; ++i)
    run(*session, define(*session, "op" + std::to_string(i)), {one.operand(0), one.operand(1)},
        {infinite.operand(0)});
  EXPECT_FALSE(session->set_step(1)) << "later steps need not be watched";
  ASSERT_TRUE(session->close());
  EXPECT_THAT(describe(read()), ElementsAre("op0 in0 in1 out0", "op1 in0 in1 out0"));
  EXPECT_EQ(status().tensor_count, 6u);
}

// The operator writes over its own input, large enough to be lent.
TEST_F(SessionModesTest, AnInputThatIsOverwrittenIsKeptAsItWas) {
  for (const std::int64_t count : {16, 500'000}) {
    SCOPED_TRACE(count);
    auto session = open(debug_plan(plan::DebugMode::overflow), graph_options());
    Floats memory({count}, 3);
    const Operand input = lend(memory, 0, 7);
    Call* call = session->begin(define(*session, "mul_" + std::to_string(count)), {&input, 1});
    const Operand same_input = lend(memory, 0, 7);
    Call* nobody_wants = session->begin(define(*session, "fine" + std::to_string(count)), {&same_input, 1});
    session->before_write(7);
    std::ranges::fill(memory.values, kInfinity);
    const Operand output = lend(memory, 0, 8);
    session->end(call, {&output, 1}, false);
    session->end(nobody_wants, {}, false);
    session->before_write(8);
    std::ranges::fill(memory.values, -1.0f);
    ASSERT_TRUE(session->close());
    EXPECT_EQ(lent, 0);
    bool found = false;
    const dump::DumpSet set = read();
    for (const dump::OperatorRun& run : set.runs())
      if (run.name == "mul_" + std::to_string(count)) {
        found = true;
        EXPECT_EQ(values_of(run.slots.at(0)), std::vector<float>(static_cast<std::size_t>(count), 3));
        EXPECT_EQ(values_of(run.slots.at(1)), std::vector<float>(static_cast<std::size_t>(count), kInfinity));
      }
    EXPECT_TRUE(found);
  }
}

// Each call holds more than the limit, and several threads have calls under way.
TEST_F(SessionModesTest, ALimitSmallerThanACall) {
  SessionOptions options = graph_options();
  options.memory_limit_bytes = 10'000;
  options.threads = 1;
  auto session = open(debug_plan(plan::DebugMode::overflow), options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const Floats a({3000}, 1), b({3000}, 2), infinite({3000}, kInfinity);
      const DefinedOperator* op = define(*session, "op" + std::to_string(t));
      const auto content = static_cast<std::uint64_t>(t * 10 + 1);
      for (int i = 0; i < 30; ++i)
        run(*session, op, {lend(a, 0, content), lend(b, 1, content + 1), a.operand(2)},
            {i % 3 == 0 ? infinite.operand(0) : a.operand(0)});
      session->before_write(content);
      session->before_write(content + 1);
    });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(session->close());
  EXPECT_EQ(lent, 0);
  EXPECT_EQ(read().runs().size(), 30u);
  EXPECT_EQ(status().state, "complete");
}

// ------------------------------------------------------------------ exception

TEST_F(SessionModesTest, OnlyTheInputsOfAFailingOperatorAreKeptAndAtOnce) {
  plan::DumpPlan plan = debug_plan(plan::DebugMode::exception);
  plan.sides = plan::Sides::inputs;
  auto session = open(std::move(plan), graph_options());
  Floats x({300'000}, 1);
  const Operand input = lend(x, 0, 7);
  run(*session, define(*session, "fine"), {input}, {x.operand(0)});
  Call* call = session->begin(define(*session, "bad"), {&input, 1});
  session->before_write(7);
  std::ranges::fill(x.values, 9.0f);  // half done when it fails
  session->end(call, {}, true);
  const dump::DumpSet set = read();  // before anything is closed
  EXPECT_THAT(describe(set), ElementsAre("bad in0"));
  EXPECT_EQ(values_of(set.runs()[0].slots[0])[299'999], 1);
  ASSERT_TRUE(session->close());
  EXPECT_EQ(lent, 0);
}

// ------------------------------------------------------------------ containers

TEST_F(SessionModesTest, AContainerHoldsACall) {
  plan::DumpPlan plan = make_plan(plan::Content::tensor);
  plan.layout = plan::Layout::model_tree;
  plan.file_format = plan::FileFormat::bin;
  plan.default_format = false;
  auto session = open(std::move(plan), graph_options());
  Floats x({2, 3}, 1);
  const Floats y({3}, 2);
  const Operand inputs[] = {lend(x, 0, 7), y.operand(2)};
  const DefinedOperator* op = define(*session, "Default/add_-op0", "add_");
  Call* call = session->begin(op, inputs);
  session->before_write(7);
  std::ranges::fill(x.values, 5.0f);
  const Operand output = lend(x, 0, 8);
  session->end(call, {&output, 1}, false);
  ASSERT_TRUE(session->close());
  EXPECT_EQ(lent, 0);
  const dump::DumpSet set = read();
  ASSERT_THAT(set.runs(), SizeIs(1));
  const auto& slots = set.runs()[0].slots;
  ASSERT_THAT(slots, SizeIs(3));
  EXPECT_EQ(slots[1].index, 2u);
  EXPECT_EQ(values_of(slots[0]), std::vector<float>(6, 1));
  EXPECT_EQ(values_of(slots[1]), std::vector<float>(3, 2));
  EXPECT_EQ(values_of(slots[2]), std::vector<float>(6, 5));
  EXPECT_EQ(status().tensor_count, 3u);
}

TEST_F(SessionModesTest, AnOverflowHasItsRecord) {
  for (const plan::FileFormat format : {plan::FileFormat::npy, plan::FileFormat::bin}) {
    plan::DumpPlan plan = debug_plan(plan::DebugMode::overflow);
    plan.layout = plan::Layout::model_tree;
    plan.file_format = format;
    plan.root = root_ = directory_.path() / (format == plan::FileFormat::npy ? "npy" : "bin");
    auto session = open(std::move(plan));
    const Floats one({4}, 1), infinite({4}, kInfinity);
    run(*session, define(*session, "fine"), {one.operand(0)}, {one.operand(0)});
    run(*session, define(*session, "bad"), {one.operand(0)}, {infinite.operand(0)});
    ASSERT_TRUE(session->close());
    const dump::DumpSet set = read();
    ASSERT_THAT(set.overflows(), SizeIs(1));
    ASSERT_THAT(set.runs(), SizeIs(1));
    EXPECT_EQ(set.overflows()[0].task, set.runs()[0].task);
    EXPECT_NE(set.overflows()[0].status, 0u);
  }
}

// ------------------------------------------------------------------ flags

TEST_F(SessionModesTest, TheInnermostFlagDecidesAndGradientsFollow) {
  plan::DumpPlan plan = make_plan(plan::Content::tensor);
  plan.only_flagged_operators = true;
  auto session = open(std::move(plan));
  session->set_dump("Default/block", true);
  session->set_dump("Default/block/inner", false);
  session->set_dump("Default/block/inner/tanh-op0", true);
  const Floats x({4}, 1);
  for (const char* name : {"Default/block/a-op0", "Default/block/inner/b-op0", "Default/block/inner/tanh-op0",
                           "Gradients/Default/block/a-op0", "Gradients/Default/block/inner/b-op0",
                           "Default/blocks/c-op0", "Default/d-op0"})
    run(*session, define(*session, name), {x.operand(0)}, {});
  ASSERT_TRUE(session->close());
  std::vector<std::string> names;
  const dump::DumpSet set = read();
  for (const dump::OperatorRun& run : set.runs()) names.push_back(run.name);
  EXPECT_THAT(names, UnorderedElementsAre("Default_block_a-op0", "Default_block_inner_tanh-op0",
                                          "Gradients_Default_block_a-op0"));
}

TEST_F(SessionModesTest, AFlagOfTheModelIsNotOneOfItsOptimizer) {
  plan::DumpPlan plan = make_plan(plan::Content::tensor);
  plan.only_flagged_operators = true;
  auto session = open(std::move(plan));
  session->set_dump("Default", true);
  model::Operator update{.type = "add_", .name = "Default/optimizer-SGD/add_-op0", .source_file = {}};
  update.phase = model::Phase::optimizer;
  const DefinedOperator* optimizer = session->define(update);
  const DefinedOperator* forward = define(*session, "Default/fc/addmm-op0");
  EXPECT_FALSE(session->wants(optimizer).call);
  EXPECT_TRUE(session->wants(forward).call);
  session->set_dump("Default/optimizer-SGD", true);
  EXPECT_TRUE(session->wants(optimizer).call) << "flags hold for operators that are known already";
  session->set_dump("Default/fc", false);
  EXPECT_FALSE(session->wants(forward).call);
  ASSERT_TRUE(session->close());
}

// ------------------------------------------------------------------ graphs

TEST_F(SessionModesTest, StepsOfOtherOperatorsAreOtherGraphs) {
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

TEST_F(SessionModesTest, RowsOfAStepThatMovesStayTogether) {
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

TEST_F(SessionModesTest, OperatorsThatAreNotDumpedAreInTheGraph) {
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

TEST_F(SessionModesTest, AnEngineThatTellsNoGraphHasNone) {
  auto session = open(graph_plan());
  run_step(*session, {"a"}, 0);
  ASSERT_TRUE(session->close());
  EXPECT_FALSE(fs::exists(root_ / "rank_0/graphs"));
}

TEST_F(SessionModesTest, AFailedCallIsNotInTheGraph) {
  auto session = open(graph_plan(), graph_options());
  const Floats x({4}, 1);
  run(*session, define(*session, "good"), {x.operand(0)}, {});
  run(*session, define(*session, "bad"), {x.operand(0)}, {}, true);
  ASSERT_TRUE(session->close());
  EXPECT_THAT(dump::read_graphs(root_ / "rank_0")->files.at(0).order, ElementsAre("good"));
}

// ------------------------------------------------------------------ parameters and arguments

TEST_F(SessionModesTest, ParametersAreThoseOfTheEndOfTheStep) {
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
    in.name = "x";  // not lent: taken when it is met
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

TEST_F(SessionModesTest, ParametersAndConstantsAreChosenByTheirNames) {
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
TEST_F(SessionModesTest, AParameterBehindAView) {
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

TEST_F(SessionModesTest, ArgumentsLieBesideTheTensors) {
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
    session->set_arguments(*call, {{.name = "keepdim", .value = true},
                                   {.name = "dim", .value = std::int64_t{1}},
                                   {.name = "self", .value = model::Argument::Tensor{0}}});
    session->end(call, {}, false);
  }
  ASSERT_TRUE(session->close());
  EXPECT_EQ(*read_file(root_ / "rank_0/net/0/0/sum.Default_sum-op0.json", 1000),
            "{\n    \"dim\": \"1\",\n    \"keepdim\": \"True\"\n}");
}

// ------------------------------------------------------------------ nothing found

TEST_F(SessionModesTest, WhatMatchedNothingIsSaidWithWhatIsNear) {
  plan::DumpPlan plan = make_plan(plan::Content::tensor);
  ASSERT_TRUE(plan.operators.add(plan::RuleKind::type, "conv9"));
  auto session = open(std::move(plan));
  run_step(*session, {"Default/conv1/conv2d-op0"}, 0);
  ASSERT_TRUE(session->close());
  EXPECT_EQ(log_lines("no operator matched 'conv9' of the kernels list; nearest: conv2d"), 1);
}

TEST_F(SessionModesTest, NoFlagIsSaid) {
  plan::DumpPlan plan = make_plan(plan::Content::tensor);
  plan.only_flagged_operators = true;
  auto session = open(std::move(plan));
  run_step(*session, {"a"}, 0);
  ASSERT_TRUE(session->close());
  EXPECT_EQ(log_lines("no operator was flagged"), 1);
}

}  // namespace
}  // namespace opdump::capture
