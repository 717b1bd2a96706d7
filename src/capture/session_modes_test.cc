// What MindSpore's modes ask of a session: overflow, exception, containers, flags.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "capture/session_fixture_test.h"
#include "dump/read/summary_test.h"

namespace opdump::capture {
namespace {

using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class SessionModesTest : public GraphSessionTest {
 protected:
  plan::DumpPlan debug_plan(plan::DebugMode mode, plan::Content content = plan::Content::tensor) {
    plan::DumpPlan plan = make_plan(content);
    plan.debug = mode;
    return plan;
  }
};

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

// A mask with infinities, and whatever reads it, is no overflow, and counts as none.
TEST_F(SessionModesTest, WhoPassesOnWhatIsNotFiniteMadeNothing) {
  plan::DumpPlan plan = debug_plan(plan::DebugMode::overflow);
  plan.overflow_limit = 1;
  auto session = open(std::move(plan));
  const Floats one({8}, 1), infinite({8}, kInfinity), nan({8}, std::numeric_limits<float>::quiet_NaN());
  using Item = model::Argument;
  const std::vector<Item> arguments[] = {{Item{"value", -double{kInfinity}}},
                                         {Item{"values", Item::List{Item{"", 1.0}, Item{"", std::nan("")}}}}};
  for (const auto& made_of : arguments) {
    Call* call = session->begin(define(*session, "full" + std::to_string(made_of.size())), {});
    session->set_arguments(*call, {.arguments = made_of});
    const Operand output = infinite.operand(0, 5);
    session->end(call, {&output, 1}, false);
  }
  run(*session, define(*session, "add"), {one.operand(0, 4), infinite.operand(1, 5)},
      {infinite.operand(0, 6)});
  run(*session, define(*session, "softmax"), {infinite.operand(0, 6)}, {nan.operand(0)});
  run(*session, define(*session, "sum"), {nan.operand(0)}, {nan.operand(0)});
  run(*session, define(*session, "bad"), {one.operand(0, 4)}, {nan.operand(0)});
  EXPECT_FALSE(session->set_step(1));
  ASSERT_TRUE(session->close());
  EXPECT_THAT(describe(read()), ElementsAre("bad in0 out0"));
}

// What it read is gone when it ends.
TEST_F(SessionModesTest, InputsAreLookedAtBeforeTheyAreOverwritten) {
  auto session = open(debug_plan(plan::DebugMode::overflow));
  Floats memory({4}, kInfinity);
  const auto in_place = [&](const char* name, std::uint64_t content, float result) {
    const Operand input = memory.operand(0, content);
    Call* call = session->begin(define(*session, name), {&input, 1});
    std::ranges::fill(memory.values, result);
    const Operand output = memory.operand(0, content == 0 ? 0 : content + 1);
    session->end(call, {&output, 1}, false);
  };
  in_place("heals", 7, 1);
  in_place("breaks", 8, kInfinity);
  in_place("passes on", 9, -kInfinity);
  in_place("heals unknown memory", 0, 1);
  in_place("breaks unknown memory", 0, kInfinity);
  ASSERT_TRUE(session->close());
  EXPECT_THAT(describe(read()), ElementsAre("breaks in0 out0", "breaks_unknown_memory in0 out0"));
}

TEST_F(SessionModesTest, ComplexNumbersAndLargeTensorsOverflow) {
  auto session = open(debug_plan(plan::DebugMode::overflow));
  std::vector<float> pairs(8, 1);
  Operand complex = Floats({1}).operand(0);
  complex.view = TensorView::row_major(DType::complex64, {4}, pairs.data());
  run(*session, define(*session, "fine"), {complex}, {complex});
  pairs[3] = kInfinity;
  run(*session, define(*session, "imaginary"), {}, {complex});
  run(*session, define(*session, "passes"), {complex}, {complex});
  Floats large({1'000'000}, 1), fine({1'000'000}, 1);
  large.values[999'999] = -kInfinity;
  run(*session, define(*session, "large"), {fine.operand(0)}, {large.operand(0, 3)});
  run(*session, define(*session, "reads it"), {large.operand(0, 3)}, {large.operand(0)});
  ASSERT_TRUE(session->close());
  EXPECT_THAT(describe(read()), ElementsAre("imaginary out0", "large in0 out0"));
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

TEST_F(SessionModesTest, AContainerHoldsACall) {
  plan::DumpPlan plan = make_plan(plan::Content::tensor);
  plan.scheme = plan::SchemeKind::model_tree;
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
    plan.scheme = plan::SchemeKind::model_tree;
    plan.file_format = format;
    plan.root = root_ = directory_.path() / (format == plan::FileFormat::npy ? "npy" : "bin");
    auto session = open(std::move(plan));
    const Floats one({4}, 1), infinite({4}, kInfinity);
    run(*session, define(*session, "fine"), {one.operand(0)}, {one.operand(0)});
    run(*session, define(*session, "bad"), {one.operand(0)}, {infinite.operand(0)});
    ASSERT_TRUE(session->close());
    const dump::DumpSet set = read();
    const std::vector<dump::Overflow>& overflows = set.overflows();
    ASSERT_THAT(overflows, SizeIs(1));
    ASSERT_THAT(set.runs(), SizeIs(1));
    EXPECT_EQ(overflows[0].task, set.runs()[0].task);
    EXPECT_NE(overflows[0].status, 0u);
  }
}

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

TEST_F(SessionModesTest, WhatMatchedNothingIsSaidWithWhatIsNear) {
  plan::DumpPlan plan = make_plan(plan::Content::tensor);
  ASSERT_TRUE(plan.operators.add(plan::RuleKind::type, "conv9"));
  auto session = open(std::move(plan));
  run_step(*session, {"Default/conv1/conv2d-op0"}, 0);
  ASSERT_TRUE(session->close());
  EXPECT_EQ(log_lines("no operator matched 'conv9' of the kernels list; nearest: conv2d"), 1);
}

TEST_F(SessionModesTest, AFlagThatFitsNothingIsSaidWithWhatIsNear) {
  plan::DumpPlan plan = make_plan(plan::Content::tensor);
  plan.only_flagged_operators = true;
  auto session = open(std::move(plan));
  session->set_dump("Default/conv1", true);
  session->set_dump("Default/conv1/conv2d-op7", false);
  session->set_dump("Default/drop", true, true);
  session->set_dump("Default/fc", false);
  session->set_dump("Default/fc", true, true);
  run_step(*session, {"Default/conv1/conv2d-op0", "Default/fc/addmm-op0"}, 0);
  ASSERT_TRUE(session->close());
  EXPECT_EQ(log_lines("no operator matched"), 1);
  EXPECT_EQ(log_lines("no operator matched 'Default/conv1/conv2d-op7' of set_dump(); nearest: "
                      "Default/conv1/conv2d-op0"),
            1);
  EXPECT_EQ(status().operator_count, 1u) << "a name goes before what bears it";
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
TEST_F(SessionTest, ChecksThatWhatIsReadIsWhatWasWritten) {
  SessionOptions options;
  options.checks_reads = true;
  auto session = open(make_plan(plan::Content::tensor), options);
  Floats a({4, 8}, 1), b({4, 8}, 2);
  const auto* maker = define(*session, "Default/make");
  const auto* reader = define(*session, "Default/read");
  const auto* again = define(*session, "Default/again");
  session->set_step(0);
  run(*session, maker, {}, {a.operand(0, 7), b.operand(1, 8)});
  run(*session, reader, {a.operand(0, 7), b.operand(1, 8)}, {});
  EXPECT_EQ(log_lines("which is not what"), 0);
  a.values[5] = 3;  // by a kernel that says nothing
  Operand transposed = a.operand(0, 7);
  transposed.view.shape = {8, 4};
  transposed.view.strides = {1, 8};
  run(*session, again, {transposed}, {});
  run(*session, reader, {a.operand(0, 7), b.operand(1, 8)}, {});
  ASSERT_TRUE(session->close());

  EXPECT_EQ(log_lines("step 0: Default/again reads input.0, which is not what Default/read read: "), 1);
  EXPECT_EQ(log_lines("which is not what"), 1) << "said once";
  EXPECT_THAT(status().warnings, ElementsAre(HasSubstr("which is not what")));
  const auto set = read();
  std::ptrdiff_t changed = 0;  // tensors with the element that was changed
  for (const dump::OperatorRun& of : set.runs())
    changed += std::ranges::count_if(
        of.slots, [](const dump::Slot& slot) { return std::ranges::count(values_of(slot), 3.0f) == 1; });
  EXPECT_EQ(changed, 2) << "what was read later, and no more";
}

}  // namespace opdump::capture
