#include "capture/graph/graph_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <thread>

#include "capture/session.h"

namespace opdump::capture {
namespace {

using model::DType;
using model::GraphParameter;
using model::Source;
using testing::ElementsAre;
using testing::SizeIs;

class GraphRecorderTest : public testing::Test {
 protected:
  const DefinedOperator& define(std::string name) {
    DefinedOperator& op = operators_.emplace_back();
    op.op.type = name.substr(0, name.find('-'));
    op.op.name = std::move(name);
    return op;
  }

  static GraphTensor tensor(std::uint64_t value, std::uint64_t content = 0, std::uint32_t index = 0) {
    return {.value = value, .content = content, .index = index};
  }

  static GraphTensor named(const char* name, std::uint64_t value,
                           GraphParameter::Role role = GraphParameter::Role::weight) {
    return {.value = value, .content = value, .name = name, .role = role};
  }

  void note(const DefinedOperator& op, std::vector<GraphTensor> inputs, std::vector<GraphTensor> outputs) {
    for (GraphTensor& input : inputs) input.type = {DType::float32, {2, 3}};
    for (GraphTensor& output : outputs) output.type = {DType::float16, {4}};
    recorder_.note(op, inputs, outputs, NodeDetail());
  }

  // The graph of the step, which must be new.
  model::Graph end_step() {
    auto ended = recorder_.end_step();
    EXPECT_TRUE(ended && ended->graph);
    return ended && ended->graph ? std::move(*ended->graph) : model::Graph();
  }

  static Source node(std::uint32_t index, std::uint32_t output = 0) {
    return {Source::Kind::node, index, output};
  }
  static Source parameter(std::uint32_t index) { return {Source::Kind::parameter, index, 0}; }

  std::deque<DefinedOperator> operators_;
  GraphRecorder recorder_;
};

TEST_F(GraphRecorderTest, AGraphIsASetOfOperators) {
  const auto &a = define("a-op0"), &b = define("b-op0"), &c = define("c-op0");
  const auto step = [&](std::initializer_list<const DefinedOperator*> ops) {
    for (const DefinedOperator* op : ops) recorder_.note(*op, {}, {}, std::nullopt);
    return recorder_.end_step();
  };
  EXPECT_FALSE(step({}));
  EXPECT_EQ(recorder_.expected_graph(), 0);
  EXPECT_TRUE(step({&a, &b})->graph);
  const auto other_order = step({&b, &a});  // threads that took turns differently
  EXPECT_EQ(other_order->graph_id, 0);
  EXPECT_FALSE(other_order->graph) << "it is known";
  EXPECT_EQ(step({&a, &c})->graph_id, 1);
  EXPECT_EQ(recorder_.expected_graph(), 1) << "the next step is expected to be the same";
  EXPECT_EQ(step({&a})->graph_id, 2) << "a part of them is another graph";
  EXPECT_EQ(step({&a, &b, &b})->graph_id, 3) << "so is one that runs twice";
  EXPECT_EQ(step({&b, &a})->graph_id, 0);
  EXPECT_EQ(recorder_.expected_graph(), 0);
  EXPECT_FALSE(step({})) << "a step without operators is none";
}

TEST_F(GraphRecorderTest, EdgesFollowValues) {
  const auto &split = define("split-op0"), &add = define("add-op0");
  note(split, {named("x", 1, GraphParameter::Role::input)}, {tensor(10, 5, 0), tensor(11, 5, 1)});
  note(add, {tensor(11, 5), tensor(10, 5, 3)}, {tensor(12, 6)});
  const model::Graph graph = end_step();
  ASSERT_THAT(graph.nodes, SizeIs(2));
  EXPECT_EQ(graph.nodes[0].inputs[0].source, parameter(0));
  EXPECT_EQ(graph.nodes[1].inputs[0].source, node(0, 1));
  EXPECT_EQ(graph.nodes[1].inputs[1].source, node(0, 0));
  EXPECT_EQ(graph.nodes[1].inputs[1].index, 3u) << "an operand that is absent leaves a hole";
  EXPECT_EQ(graph.nodes[0].inputs[0].type, (model::TensorType{DType::float32, {2, 3}}));
  EXPECT_EQ(graph.nodes[0].outputs[1].type, (model::TensorType{DType::float16, {4}}));
}

TEST_F(GraphRecorderTest, AViewThatNobodySawLeadsToTheWriterOfItsMemory) {
  const auto &exp = define("exp-op0"), &neg = define("neg-op0");
  note(exp, {tensor(1, 1)}, {tensor(20, 2)});
  note(neg, {tensor(77, 2)}, {tensor(30, 3)});
  EXPECT_EQ(end_step().nodes[1].inputs[0].source, node(0));
}

TEST_F(GraphRecorderTest, AViewIsNotTheWriterOfItsMemory) {
  const auto &exp = define("exp-op0"), &view = define("view-op0"), &neg = define("neg-op0");
  note(exp, {tensor(1, 1)}, {tensor(20, 2)});
  note(view, {tensor(20, 2)}, {tensor(21, 2)});
  note(neg, {tensor(21, 2), tensor(99, 2)}, {tensor(30, 3)});
  const model::Graph graph = end_step();
  EXPECT_EQ(graph.nodes[1].inputs[0].source, node(0));
  EXPECT_EQ(graph.nodes[2].inputs[0].source, node(1)) << "its value is the view's";
  EXPECT_EQ(graph.nodes[2].inputs[1].source, node(0)) << "another view of the same memory";
}

// A tensor of four floats, `chunk` of them in a buffer.
GraphTensor part(std::uint64_t block, std::int64_t chunk, std::uint64_t content, std::int64_t count = 4) {
  return {.content = content,
          .where = make_footprint(block, chunk * 16, {DType::float32, {count}, {1}, nullptr})};
}

TEST_F(GraphRecorderTest, DisjointPartsOfOneBufferHaveWritersOfTheirOwn) {
  const auto &exp = define("exp-op0"), &sin = define("sin_-op0"), &cos = define("cos_-op0"),
             &neg = define("neg-op0");
  note(exp, {}, {part(5, 0, 1, 16)});
  note(sin, {part(5, 0, 1)}, {part(5, 0, 2)});
  note(cos, {part(5, 1, 2)}, {part(5, 1, 3)});
  note(neg, {part(5, 0, 3), part(5, 1, 3), part(5, 2, 3), part(5, 0, 3, 16)}, {});
  const model::Graph graph = end_step();
  EXPECT_EQ(graph.nodes[2].inputs[0].source, node(0)) << "not the sine, which wrote elsewhere";
  EXPECT_EQ(graph.nodes[3].inputs[0].source, node(1));
  EXPECT_EQ(graph.nodes[3].inputs[1].source, node(2));
  EXPECT_EQ(graph.nodes[3].inputs[2].source, node(0));
  EXPECT_EQ(graph.nodes[3].inputs[3].source, node(2)) << "of several writers the last";
}

TEST_F(GraphRecorderTest, AViewInMemoryIsMadeByItsOperatorUntilSomebodyWrites) {
  const auto &exp = define("exp-op0"), &view = define("view-op0"), &detach = define("detach-op0"),
             &neg = define("neg-op0"), &mul = define("mul_-op0"), &sin = define("sin-op0");
  GraphTensor column = part(5, 0, 1, 2), again = part(5, 0, 1, 2), late = part(5, 0, 0, 2);
  column.is_view = again.is_view = true;
  note(exp, {}, {part(5, 0, 1)});
  note(view, {part(5, 0, 1)}, {column});
  note(detach, {column}, {again});
  note(neg, {part(5, 0, 1, 2), part(5, 0, 1)}, {});
  note(mul, {part(5, 0, 1)}, {part(5, 0, 0)});  // memory whose content nobody knows
  note(sin, {late}, {});
  const model::Graph graph = end_step();
  EXPECT_EQ(graph.nodes[3].inputs[0].source, node(1)) << "detach() makes nothing";
  EXPECT_EQ(graph.nodes[3].inputs[1].source, node(0));
  EXPECT_EQ(graph.nodes[5].inputs[0].source, node(4));
}

TEST_F(GraphRecorderTest, MemoryThatNobodyWroteIsOneParameterForEachView) {
  const auto &a = define("a-op0"), &b = define("b-op0");
  note(a, {part(5, 0, 0), part(5, 1, 0)}, {});
  note(b, {part(5, 1, 0), part(5, 0, 0)}, {});
  const model::Graph graph = end_step();
  EXPECT_EQ(graph.parameters.size(), 2u);
  EXPECT_EQ(graph.nodes[1].inputs[0].source, parameter(1));
  EXPECT_EQ(graph.nodes[1].inputs[1].source, parameter(0));
}

TEST_F(GraphRecorderTest, WhatIsWrittenInPlaceComesFromTheWriter) {
  const auto &exp = define("exp-op0"), &mul = define("mul_-op0"), &neg = define("neg-op0");
  note(exp, {tensor(1, 1)}, {tensor(20, 2)});
  note(mul, {tensor(20, 2)}, {tensor(40, 4)});  // a write gives the memory a new number
  note(neg, {tensor(40, 4)}, {tensor(50, 5)});
  const model::Graph graph = end_step();
  EXPECT_EQ(graph.nodes[1].inputs[0].source, node(0));
  EXPECT_EQ(graph.nodes[2].inputs[0].source, node(1));
}

TEST_F(GraphRecorderTest, WhatHasAValueKeepsItsMaker) {
  const auto &exp = define("exp-op0"), &detach = define("detach-op0"), &neg = define("neg-op0");
  note(exp, {tensor(1, 1)}, {tensor(20, 2)});
  note(detach, {tensor(20, 2)}, {tensor(20, 2)});
  note(neg, {tensor(20, 2)}, {tensor(30, 3)});
  EXPECT_EQ(end_step().nodes[2].inputs[0].source, node(0));
}

TEST_F(GraphRecorderTest, ParametersHaveNamesAndRoles) {
  const auto &addmm = define("addmm-op0"), &mul = define("mul-op0");
  GraphTensor two = tensor(7);
  two.role = GraphParameter::Role::constant;
  const double value = 2.5;
  std::memcpy(two.constant.data(), &value, sizeof value);
  note(addmm,
       {named("fc.bias", 1), named("x", 2, GraphParameter::Role::input), named("fc.weight", 3), tensor(4),
        tensor(0)},
       {tensor(10)});
  note(mul, {tensor(10), two, named("fc.weight", 3), tensor(0)}, {tensor(11)});
  auto ended = recorder_.end_step();
  ASSERT_TRUE(ended && ended->graph);
  std::vector<std::string> names;
  for (const GraphParameter& p : ended->graph->parameters) names.push_back(p.name);
  EXPECT_THAT(names, ElementsAre("fc.bias", "x", "fc.weight", "input_1", "input_2", "data-0", "input_3"))
      << "one that is unknown is another one each time";
  EXPECT_EQ(ended->graph->parameters[0].role, GraphParameter::Role::weight);
  EXPECT_EQ(ended->graph->parameters[1].role, GraphParameter::Role::input);
  EXPECT_EQ(ended->graph->parameters[5].role, GraphParameter::Role::constant);
  EXPECT_EQ(ended->graph->nodes[1].inputs[2].source, parameter(2)) << "read twice, one parameter";
  ASSERT_THAT(ended->constants, SizeIs(1));
  EXPECT_EQ(ended->constants[0].name, "data-0");
  EXPECT_EQ(std::memcmp(ended->constants[0].data.data(), &value, sizeof value), 0);
}

TEST_F(GraphRecorderTest, DetailIsToldOnceAndHoldsForLaterGraphs) {
  const auto &a = define("a-op0"), &b = define("b-op0");
  NodeDetail detail;
  detail.arguments = {{.name = "alpha", .value = std::int64_t{3}}};
  GraphTensor input = tensor(1);
  input.type = {DType::int64, {5}};
  recorder_.note(a, {&input, 1}, {}, detail);
  EXPECT_EQ(end_step().nodes[0].arguments, detail.arguments);
  recorder_.note(b, {}, {}, std::nullopt);
  recorder_.note(a, {&input, 1}, {}, std::nullopt);
  const model::Graph graph = end_step();
  EXPECT_EQ(graph.id, 1);
  EXPECT_EQ(graph.nodes[1].op.graph_id, 1);
  EXPECT_EQ(graph.nodes[1].arguments, detail.arguments);
  EXPECT_EQ(graph.nodes[1].inputs[0].type.dtype, DType::int64);
  EXPECT_EQ(graph.nodes[0].inputs.size(), 0u) << "nobody reported it";
}

TEST_F(GraphRecorderTest, DimensionsThatDifferBetweenSteps) {
  const auto &a = define("a-op0"), &b = define("b-op0");
  const auto step = [&](model::Shape in, model::Shape out, bool with_b = false) {
    GraphTensor input = tensor(1), output = tensor(2);
    input.type = {DType::float32, std::move(in)};
    output.type = {DType::float32, std::move(out)};
    recorder_.note(a, {&input, 1}, {&output, 1}, std::nullopt);
    if (with_b) recorder_.note(b, {}, {}, std::nullopt);
    return *recorder_.end_step();
  };
  EXPECT_TRUE(step({8, 3}, {8}).is_new);
  EXPECT_FALSE(step({8, 3}, {8}).graph) << "nothing is new";
  const auto other = step({5, 3}, {5});
  ASSERT_TRUE(other.graph && !other.is_new);
  EXPECT_EQ(other.graph_id, 0);
  EXPECT_EQ(other.graph->nodes[0].inputs[0].type.shape, (model::Shape{-1, 3}));
  EXPECT_EQ(other.graph->nodes[0].outputs[0].type.shape, (model::Shape{-1}));
  EXPECT_EQ(other.graph->parameters[0].type.shape, (model::Shape{-1, 3}));
  EXPECT_FALSE(step({6, 3}, {6}).graph) << "it is known to differ";
  EXPECT_EQ(step({6, 4}, {6}).graph->nodes[0].inputs[0].type.shape, (model::Shape{-1, -1}));
  EXPECT_EQ(step({6, 4, 1}, {6}).graph->nodes[0].inputs[0].type.shape, (model::Shape{-2}));
  EXPECT_FALSE(step({7}, {6}).graph);
  EXPECT_EQ(step({7, 7}, {7}, true).graph->nodes[0].inputs[0].type.shape, (model::Shape{7, 7}))
      << "of another graph";
}

TEST_F(GraphRecorderTest, WhatAGraphGives) {
  const auto &a = define("a-op0"), &b = define("b-op0");
  note(a, {named("x", 1, GraphParameter::Role::input)}, {tensor(10), tensor(11, 0, 1)});
  note(b, {tensor(10)}, {tensor(12)});
  const std::uint64_t outputs[] = {11, 12, 10, 1, 99};
  const auto ended = recorder_.end_step(outputs);
  EXPECT_THAT(ended->graph->outputs, ElementsAre(node(0, 1), node(1), node(0), parameter(0)))
      << "nobody made 99";
}

TEST_F(GraphRecorderTest, ValuesOfAStepMeanNothingInTheNext) {
  const auto &a = define("a-op0"), &b = define("b-op0");
  note(a, {}, {tensor(20, 2)});
  end_step();
  note(b, {tensor(20, 2)}, {});
  EXPECT_EQ(end_step().nodes[0].inputs[0].source, parameter(0));
}

TEST_F(GraphRecorderTest, TooManyGraphsAreNotBuilt) {
  for (std::size_t i = 0; i < GraphRecorder::kMaxGraphs; ++i) {
    note(define("op-op" + std::to_string(i)), {}, {});
    end_step();
  }
  note(define("one-op0"), {}, {});
  const auto ended = recorder_.end_step();
  ASSERT_TRUE(ended);
  EXPECT_FALSE(ended->graph);
  EXPECT_EQ(ended->graph_id, 256) << "its steps still have a number";
  EXPECT_EQ(ended->loss, "more than 256 different graphs");
}

TEST_F(GraphRecorderTest, TooManyOperatorsAreNotBuilt) {
  const auto& op = define("a-op0");
  for (std::size_t i = 0; i <= GraphRecorder::kMaxCalls; ++i) recorder_.note(op, {}, {}, std::nullopt);
  const auto ended = recorder_.end_step();
  ASSERT_TRUE(ended);
  EXPECT_FALSE(ended->graph);
  EXPECT_EQ(ended->loss, "more than 1048576 operators in one step");
  note(op, {}, {});
  EXPECT_EQ(end_step().nodes.size(), 1u) << "the next step is a step like any other";
}

TEST_F(GraphRecorderTest, ThreadsNoteTogether) {
  std::vector<const DefinedOperator*> ops;
  for (int i = 0; i < 4; ++i) ops.push_back(&define("op-op" + std::to_string(i)));
  for (int step = 0; step < 3; ++step) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 500; ++i) note(*ops[static_cast<std::size_t>(t)], {tensor(1)}, {tensor(2)});
      });
    for (std::thread& thread : threads) thread.join();
    const auto ended = recorder_.end_step();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->graph_id, 0);
    EXPECT_EQ(ended->graph.has_value(), step == 0);
  }
}

}  // namespace
}  // namespace opdump::capture
