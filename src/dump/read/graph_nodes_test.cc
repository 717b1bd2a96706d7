#include "dump/read/graph_nodes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace opdump::dump {
namespace {

constexpr auto kFloat = model::DType::float32;

model::Node make_node(std::string name, model::Shape output, model::Shape input = {2}) {
  model::Node node;
  node.op.name = std::move(name);
  node.inputs.push_back({0, {kFloat, input}, {}});
  node.outputs.push_back({0, {kFloat, output}});
  return node;
}

class MatchNodes : public testing::Test {
 protected:
  void add(const std::string& name, std::uint64_t time, model::Shape output, model::Shape input = {2}) {
    OperatorRun run;
    run.name = name;
    std::vector<std::uint32_t> slots;
    for (const auto side : {model::Side::input, model::Side::output}) {
      Slot slot;
      slot.side = side;
      slot.dtype = kFloat;
      slot.shape = side == model::Side::input ? input : output;
      slot.timestamp_us = time;
      slots.push_back(runs_.store().add(slot));
    }
    executions_.push_back(static_cast<std::uint32_t>(runs_.size()));
    runs_.add(section_, run, slots);
  }

  // "a=x b=y": the numbers of files and of nodes.
  std::string match(std::vector<OrderedNode> nodes) {
    std::string text;
    for (const auto& [name, node] : match_nodes(runs_, executions_, std::move(nodes)))
      text += (text.empty() ? "" : " ") + name.substr(find_operator_number(name)) + "=" +
              node->op.name.substr(find_operator_number(node->op.name));
    return text;
  }

  Runs runs_;
  std::uint32_t section_ = runs_.add_section({0, 14, 0});
  std::vector<std::uint32_t> executions_;
};

TEST_F(MatchNodes, InTheOrderInWhichTheyRan) {
  add("AddN-op1", 10, {2});
  add("AddN-op0", 20, {2});
  const model::Node a = make_node("AddN-op7", {2}), b = make_node("AddN-op8", {2});
  EXPECT_EQ(match({{&a, 1}, {&b, 0}}), "0=7 1=8");
  EXPECT_EQ(match({{&a}, {&b}}), "0=8 1=7") << "without an order by number";
  EXPECT_EQ(match({{&a, 0}}), "") << "some were left out";
}

// Actors run when what they read is there, so not always as the order has them.
TEST_F(MatchNodes, TheDataDecide) {
  add("MatMul-op3", 10, {2, 8});
  add("MatMul-op4", 20, {6, 8});
  add("MatMul-op5", 30, {6, 8}, {9});
  const model::Node a = make_node("MatMul-op0", {6, 8}, {9}), b = make_node("MatMul-op1", {6, 8}),
                    c = make_node("MatMul-op2", {16});  // of a view the shape is another one
  EXPECT_EQ(match({{&a, 0}, {&b, 1}, {&c, 2}}), "3=2 4=1 5=0");
}

TEST_F(MatchNodes, WhatIsNotKnownFits) {
  add("Unique-op3", 10, {5});
  add("Unique-op2", 20, {7});
  const model::Node a = make_node("Unique-op0", {-1}), b = make_node("Unique-op1", {-1});
  EXPECT_EQ(match({{&a, 0}, {&b, 1}}), "2=1 3=0");
}

}  // namespace
}  // namespace opdump::dump
