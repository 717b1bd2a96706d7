#include "capture/graph/wiring_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "capture/session_fixture_test.h"

namespace opdump::capture {
namespace {

using testing::IsEmpty;

// A block of memory as an engine sees it: each write gives it a new number.
struct Memory {
  std::uint64_t block, version;
  void write() { version += 1000; }
};

class WiringRecorderTest : public testing::Test {
 protected:
  // `count` floats from the float `first` on, or by strides.
  static Operand part(const Memory& memory, std::int64_t first, Shape shape, Shape strides = {}) {
    Operand operand;
    if (strides.rank() == 0) strides = model::row_major_strides(shape);
    operand.view = {DType::float32, std::move(shape), std::move(strides), nullptr};
    operand.block = memory.block;
    operand.block_offset = first * 4;
    operand.content = memory.version;
    return operand;
  }
  static Operand all(const Memory& memory, std::int64_t count = 16) { return part(memory, 0, {count}); }
  static Operand view(Operand operand) {
    operand.undumped = "view";
    return operand;
  }
  Memory fresh() { return {++blocks_, ++blocks_}; }

  const DefinedOperator& define(std::string name) {
    const auto known = std::ranges::find(operators_, name, [](const auto& op) { return op.op.name; });
    if (known != operators_.end()) return *known;
    DefinedOperator& op = operators_.emplace_back();
    op.op.name = std::move(name);
    op.selected = true;
    return op;
  }

  static std::string describe(const dump::CallWiring::Maker& maker) {
    std::string text = maker.name;
    if (maker.output != 0) text += "." + std::to_string(maker.output);
    for (std::int64_t i = 0; i < maker.steps_before; ++i) text += "'";
    return text;
  }
  // "relu" made it, a step before "relu'"; "-": no operator did; "?": nobody knows; "relu[2;1]": a view.
  static std::string describe(const dump::CallWiring::Input& input) {
    std::string text = input.maker ? describe(*input.maker) : input.is_outside ? "-" : "?";
    if (input.view) {
      text += "[" + std::to_string(input.view->offset);
      for (const std::int64_t stride : input.view->strides) text += ";" + std::to_string(stride);
      text += "]";
    } else if (input.is_view) {
      text += "[]";
    }
    for (const dump::CallWiring::Maker& maker : input.changed_by) text += " < " + describe(maker);
    return text;
  }

  WiringCall begin(const std::string& name, std::vector<Operand> inputs, std::string* wiring = nullptr) {
    WiringCall call{.op = &define(name), .step = step_};
    for (std::uint32_t i = 0; i < inputs.size(); ++i) inputs[i].index = i;
    const auto found = recorder_.begin(call, inputs);
    if (wiring == nullptr) return call;
    *wiring = found ? "" : "as before";
    for (std::uint32_t i = 0; found && i < inputs.size(); ++i) {
      const dump::CallWiring::Input* const input = found->find(i);
      *wiring += (i == 0 ? "" : ", ") + (input == nullptr ? "?" : describe(*input));
    }
    return call;
  }
  // Returns the wiring of its inputs.
  std::string run(const std::string& name, std::vector<Operand> inputs, std::vector<Operand> outputs) {
    std::string wiring;
    const WiringCall call = begin(name, std::move(inputs), &wiring);
    for (std::uint32_t i = 0; i < outputs.size(); ++i) outputs[i].index = i;
    recorder_.end(call, outputs);
    return wiring;
  }
  // What an operator that has not run yet would read.
  std::string maker_of(const Operand& operand) {
    return run("reader" + std::to_string(++readers_), {operand}, {});
  }

  WiringRecorder recorder_;
  std::deque<DefinedOperator> operators_;
  std::int64_t step_ = 0;
  std::uint64_t blocks_ = 0;
  int readers_ = 0;
};

TEST_F(WiringRecorderTest, AChainOfOperators) {
  const Memory x = fresh(), a = fresh(), b = fresh();
  EXPECT_EQ(run("relu", {all(x)}, {all(a)}), "-");
  EXPECT_EQ(run("split", {all(a)}, {all(b), part(b, 16, {4})}), "relu");
  EXPECT_EQ(run("add", {part(b, 16, {4}), all(x), all(a)}, {}), "split.1, -, relu");
}

TEST_F(WiringRecorderTest, ALineAppliesUntilTheNext) {
  Memory weight = fresh();
  const auto run_step = [&] {
    const Memory y = fresh();
    const std::string wiring = run("mm", {all(weight)}, {all(y)});
    Operand before = all(weight);
    WiringCall call = begin("sgd", {before});
    weight.write();
    recorder_.end(call, std::array{all(weight)});
    ++step_;
    return wiring;
  };
  EXPECT_EQ(run_step(), "-");
  EXPECT_EQ(run_step(), "sgd'");
  EXPECT_EQ(run_step(), "as before");
}

TEST_F(WiringRecorderTest, ViewsNameTheOperatorThatMadeThem) {
  const Memory x = fresh(), a = fresh();
  run("relu", {all(x)}, {part(a, 0, {4, 4})});
  EXPECT_EQ(run("t", {view(part(a, 0, {4, 4}))}, {view(part(a, 0, {4, 4}, {1, 4}))}), "relu");
  EXPECT_EQ(maker_of(part(a, 0, {4, 4}, {1, 4})), "t");
  EXPECT_EQ(maker_of(part(a, 4, {4})), "relu[4;1]") << "nobody saw that one made";
  EXPECT_EQ(run("detach", {view(part(a, 0, {4, 4}))}, {view(part(a, 0, {4, 4}))}), "relu");
  EXPECT_EQ(maker_of(part(a, 0, {4, 4})), "relu") << "detach makes nothing";
}

TEST_F(WiringRecorderTest, AnOperatorThatReturnsItsInputIsAView) {
  const Memory x = fresh(), a = fresh();
  run("relu", {all(x)}, {all(a)});
  run("contiguous", {all(a)}, {all(a)});
  EXPECT_EQ(maker_of(all(a)), "relu");
}

TEST_F(WiringRecorderTest, WhatIsWrittenInPlaceIsMadeAnew) {
  const Memory x = fresh();
  Memory a = fresh();
  run("relu", {all(x)}, {all(a)});
  run("slice", {view(all(a))}, {view(part(a, 0, {8}))});
  std::string wiring;
  const WiringCall add = begin("add_", {all(a)}, &wiring);
  EXPECT_EQ(wiring, "relu");
  a.write();
  recorder_.end(add, std::array{all(a)});
  EXPECT_EQ(maker_of(all(a)), "add_");
  EXPECT_EQ(maker_of(part(a, 0, {8})), "add_[0;1]") << "the view is older than the write";
}

TEST_F(WiringRecorderTest, WhatIsPartlyWrittenIsChanged) {
  Memory a = fresh();
  run("zeros", {}, {part(a, 0, {4, 4})});
  const auto write = [&](const std::string& name, const Operand& into) {
    Operand target = into;
    target.undumped = "only written to";
    const WiringCall call = begin(name, {target});
    a.write();
    Operand written = into;
    written.content = a.version;
    recorder_.end(call, std::array{written});
  };
  write("copy_", part(a, 0, {2, 4}));
  EXPECT_EQ(maker_of(part(a, 0, {4, 4})), "zeros < copy_");
  EXPECT_EQ(maker_of(part(a, 0, {2, 4})), "copy_");
  EXPECT_EQ(maker_of(part(a, 4, {4})), "copy_[4;1]");
  EXPECT_EQ(maker_of(part(a, 8, {8})), "zeros[8;1]");
  write("column", part(a, 3, {4, 1}, {4, 1}));
  EXPECT_EQ(maker_of(part(a, 0, {4, 4})), "zeros < column < copy_");
  EXPECT_EQ(maker_of(part(a, 0, {2, 3}, {4, 1})), "copy_[0;4;1]");
  EXPECT_EQ(maker_of(part(a, 3, {2, 1}, {4, 1})), "column[]") << "which is not row by row";
  write("fill_", part(a, 0, {4, 4}));
  EXPECT_EQ(maker_of(part(a, 0, {4, 4})), "fill_");
}

TEST_F(WiringRecorderTest, APartOfAParameterThatIsWritten) {
  Memory weight = fresh();
  const WiringCall call = begin("copy_", {part(weight, 0, {8})});
  weight.write();
  recorder_.end(call, std::array{part(weight, 0, {8})});
  EXPECT_EQ(maker_of(all(weight)), "- < copy_");
  EXPECT_EQ(maker_of(part(weight, 8, {8})), "-");
}

TEST_F(WiringRecorderTest, WhatNobodySawWrittenIsUnknown) {
  const Memory x = fresh();
  Memory a = fresh();
  run("relu", {all(x)}, {all(a)});
  a.write();
  EXPECT_EQ(maker_of(all(a)), "?");
  const WiringCall call = begin("add_", {part(a, 0, {8})});
  a.write();
  recorder_.end(call, std::array{part(a, 0, {8})});
  EXPECT_EQ(maker_of(part(a, 0, {8})), "add_");
  EXPECT_EQ(maker_of(all(a)), "? < add_");
  // Somebody writes; then an operator writes to a part without having read the rest.
  a.write();
  a.write();
  run("index_put", {}, {part(a, 8, {8})});
  EXPECT_EQ(maker_of(part(a, 0, {8})), "?");
  EXPECT_EQ(maker_of(part(a, 8, {8})), "index_put");
}

TEST_F(WiringRecorderTest, MemoryOfUnknownContentIsUnknown) {
  Memory shared{++blocks_, 0}, a = fresh();
  EXPECT_EQ(run("relu", {all(shared)}, {all(shared)}), "?");
  EXPECT_EQ(maker_of(all(shared)), "?");
  run("relu", {}, {all(a)});
  Operand foreign = all(a);
  foreign.content = 0;
  EXPECT_EQ(maker_of(foreign), "?");
  EXPECT_EQ(maker_of(all(a)), "relu") << "it was read, not written";
  run("resize", {}, {foreign});
  EXPECT_EQ(maker_of(all(a)), "?");
}

TEST_F(WiringRecorderTest, FreshMemoryHasNoMaker) {
  Memory a = fresh();
  Operand empty = all(a);
  empty.undumped = "uninitialised";
  run("empty", {}, {empty});
  EXPECT_EQ(maker_of(all(a)), "?") << "who reads it knows that somebody wrote there";
  Operand target = part(a, 0, {8});
  target.undumped = "out= argument";
  std::string wiring;
  const WiringCall call = begin("mm", {target}, &wiring);
  EXPECT_EQ(wiring, "?") << "it is not read";
  a.write();
  recorder_.end(call, std::array{part(a, 0, {8})});
  EXPECT_EQ(maker_of(all(a)), "? < mm");
  EXPECT_EQ(maker_of(part(a, 0, {8})), "mm");
}

TEST_F(WiringRecorderTest, AnOperatorThatRunsTwiceInAStepIsAmbiguous) {
  const Memory x = fresh(), a = fresh();
  run("relu", {all(x)}, {all(a)});
  EXPECT_EQ(run("add", {all(x)}, {}), "-");
  EXPECT_EQ(run("add", {all(x)}, {}), "as before");
  EXPECT_EQ(run("add", {all(a)}, {}), "?");
  EXPECT_EQ(run("add", {all(x)}, {}), "as before");
  ++step_;
  EXPECT_EQ(run("add", {all(x)}, {}), "-");
}

TEST_F(WiringRecorderTest, EnginesThatNumberValues) {
  const auto value = [](std::uint64_t number) {
    Operand operand;
    operand.value = number;
    return operand;
  };
  EXPECT_EQ(run("conv", {value(1)}, {value(2), value(3)}), "-");
  EXPECT_EQ(run("relu", {value(3), value(2), value(1)}, {value(4)}), "conv.1, conv, -");
  run("identity", {value(4)}, {value(4)});
  EXPECT_EQ(maker_of(value(4)), "relu");
  ++step_;
  EXPECT_EQ(maker_of(value(4)), "-") << "values are those of a step";
}

TEST_F(WiringRecorderTest, EnginesThatKnowContentsOnly) {
  const Floats a({4, 4});
  EXPECT_EQ(run("zeros", {}, {a.operand(0, 5)}), "as before");
  EXPECT_EQ(maker_of(a.operand(0, 5)), "zeros");
  EXPECT_EQ(maker_of(a.operand(0, 6)), "?");
  Operand row = a.operand(0, 5);
  row.view = TensorView::row_major(DType::float32, {4}, a.values.data() + 4);
  EXPECT_EQ(maker_of(row), "zeros[4;1]");
  row.content = 7;
  run("copy_", {}, {row});
  EXPECT_EQ(maker_of(a.operand(0, 7)), "? < copy_");
}

TEST_F(WiringRecorderTest, ACacheThatIsWrittenInManyPlaces) {
  Memory cache = fresh();
  run("zeros", {}, {part(cache, 0, {1000})});
  for (int i = 0; i < 200; ++i) {
    const WiringCall call = begin("copy" + std::to_string(i), {part(cache, i, {1})});
    cache.write();
    recorder_.end(call, std::array{part(cache, i, {1})});
  }
  EXPECT_EQ(maker_of(part(cache, 199, {1})), "copy199");
  EXPECT_EQ(maker_of(part(cache, 0, {1})), "?") << "too many to know them all";
  EXPECT_THAT(maker_of(part(cache, 0, {1000})),
              testing::StartsWith("? < copy199 < copy198 < copy197 < copy196 < copy195 < copy194 < copy193"));
}

TEST_F(WiringRecorderTest, BlocksThatNobodyUsesAreForgotten) {
  const Memory weight = fresh();
  for (step_ = 0; step_ < 20; ++step_) {
    for (int i = 0; i < 5000; ++i) run("relu", {all(weight)}, {all(fresh())});
    EXPECT_LT(recorder_.block_count(), WiringRecorder::kMaxIdle + 10'002);
  }
  EXPECT_EQ(maker_of(all(weight)), "-") << "what is used stays";
  for (std::size_t i = 0; i < 2 * WiringRecorder::kMaxBlocks; ++i) run("relu", {}, {all(fresh())});
  EXPECT_LE(recorder_.block_count(), WiringRecorder::kMaxBlocks + 1);
  EXPECT_EQ(maker_of(all(weight)), "?") << "nobody knows what was forgotten";
  EXPECT_EQ(maker_of(all(fresh())), "-");
}

TEST_F(WiringRecorderTest, ThreadsHaveMakersOfTheirOwn) {
  std::deque<DefinedOperator*> ops;
  for (int i = 0; i < 8; ++i) define("op" + std::to_string(i));
  std::atomic<int> wrong{0};
  const auto work = [&](std::size_t thread) {
    const DefinedOperator &make = operators_[2 * thread], &read = operators_[2 * thread + 1];
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const Memory memory{(thread + 1) * 100'000 + i, i + 1};
      const auto step = static_cast<std::int64_t>(i);
      WiringCall making{.op = &make, .step = step}, reading{.op = &read, .step = step};
      (void)recorder_.begin(making, {});
      recorder_.end(making, std::array{all(memory)});
      const auto wiring = recorder_.begin(reading, std::array{all(memory)});
      const bool is_right = i > 0 ? !wiring : wiring && wiring->inputs[0].maker->name == make.op.name;
      wrong += !is_right;
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

using SessionWiringTest = GraphSessionTest;

TEST_F(SessionWiringTest, ADumpHasWhoMadeWhatEachOperatorReads) {
  plan::DumpPlan plan = graph_plan();
  ASSERT_TRUE(plan.operators.add(plan::RuleKind::type, "relu"));
  auto session = open(std::move(plan), graph_options());
  const Floats x({4}, 1), y({4}, 2), z({4}, 3);
  const auto in_block = [](Operand operand, std::uint64_t block) {
    operand.block = operand.content = block;
    return operand;
  };
  const auto run_step = [&](std::uint64_t first) {
    run(*session, define(*session, "Default/addmm-op0", "addmm"), {in_block(x.operand(0), 1)},
        {in_block(y.operand(0), first)});
    run(*session, define(*session, "Default/relu-op0", "relu"),
        {in_block(y.operand(0), first), in_block(x.operand(1), 1)}, {in_block(z.operand(0), first + 1)});
    run(*session, define(*session, "Default/relu-op1", "relu"), {in_block(z.operand(0), first + 1)}, {});
  };
  run_step(10);
  session->set_step(1);
  run_step(20);
  run(*session, define(*session, "Default/relu-op2", "relu"), {in_block(z.operand(0), 11)}, {});
  ASSERT_TRUE(session->close());
  const dump::DumpSet set = read();
  ASSERT_EQ(set.runs().size(), 5u);
  EXPECT_TRUE(set.runs().have_wirings());
  for (const dump::OperatorRun& run : set.runs()) {
    ASSERT_NE(run.wiring, nullptr) << run.name;
    if (run.name != "Default_relu-op0") continue;
    ASSERT_EQ(run.wiring->inputs.size(), 2u);
    EXPECT_EQ(run.wiring->inputs[0].maker, (dump::CallWiring::Maker{.name = "Default/addmm-op0"}))
        << "which is not recorded itself";
    EXPECT_TRUE(run.wiring->inputs[1].is_outside);
    EXPECT_FALSE(run.wiring->inputs[1].maker);
  }
  const auto maker_of = [&](std::size_t index) { return set.runs()[index].wiring->find(0)->maker.value(); };
  EXPECT_EQ(maker_of(1).name, "Default/relu-op0");
  EXPECT_EQ(maker_of(1).number, set.runs().operator_number(0));
  EXPECT_EQ(maker_of(1).steps_before, 0);
  EXPECT_EQ(maker_of(4).name, "Default/relu-op0");
  EXPECT_EQ(maker_of(4).steps_before, 1);
  EXPECT_EQ(set.runs().wirings_of(0).size(), 1u) << "the same in both steps";
}

}  // namespace
}  // namespace opdump::capture
