#include "msaccucmp/judge/fusion_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "msaccucmp/log.h"

namespace opdump::msaccucmp {
namespace {

using format::FusionOp;
using format::FusionOutput;
using testing::ElementsAre;
using testing::HasSubstr;

FusionOp op(std::string name, std::vector<std::string> originals, std::vector<std::string> inputs = {}) {
  FusionOp made;
  made.name = std::move(name);
  made.type = "Op";
  made.inputs = std::move(inputs);
  made.has_original_names = !originals.empty();
  made.original_names = originals.empty() ? std::vector{made.name} : std::move(originals);
  return made;
}

FusionOp with_output(FusionOp made, std::string origin, std::int64_t index = 0, std::string dtype = "") {
  made.outputs.push_back({std::move(origin), index, "NCHW", {}, std::move(dtype)});
  return made;
}

FusionRules rules_of(std::vector<FusionOp> ops) {
  FusionRules rules;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].sequence == 0) ops[i].sequence = static_cast<std::int64_t>(i);
    EXPECT_TRUE(rules.add(0, ops[i]));
  }
  rules.finish();
  return rules;
}

std::vector<std::string> names_in(const std::vector<RuleOp>& group) {
  std::vector<std::string> names;
  for (const RuleOp& rule : group) names.push_back(rule.op.name);
  return names;
}

TEST(FusionRules, OperatorsOfTheSameOriginsAreOneGroup) {
  FusionOp l1a = op("l1a", {"x"}), l1b = op("l1b", {"y"});
  l1a.l1_group = l1b.l1_group = "5";
  const FusionRules rules =
      rules_of({op("a", {"one"}), op("b", {"one"}), op("c", {"p", "q"}), op("d", {"p", "q"}),
                op("e", {"r", "s"}), op("made", {""}), l1a, l1b, op("plain", {})});
  std::vector<std::vector<std::string>> groups;
  std::vector<Relation> relations;
  for (std::uint32_t group = 0; group < rules.group_count(); ++group) {
    groups.push_back(names_in(rules.group(group)));
    relations.push_back(relation_of(rules.group(group)));
  }
  EXPECT_THAT(groups, ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d"), ElementsAre("e"),
                                  ElementsAre("made"), ElementsAre("l1a", "l1b"), ElementsAre("plain")));
  EXPECT_THAT(relations, ElementsAre(Relation::one_to_many, Relation::many_to_many, Relation::many_to_one,
                                     Relation::one_to_one, Relation::l1, Relation::one_to_one));
  EXPECT_EQ(rules.find("d")->index, 1);
  EXPECT_FALSE(rules.find("nobody"));
}

TEST(FusionRules, OperatorsStayAsTheyAre) {
  FusionOp made = op("conv", {"conv", "", "relu"}, {"data:0", "w:0"});
  made.sequence = -7;
  made.l1_group = "3";
  made.is_multi = true;
  made.outputs = {{"relu", -1, "NCHW", {1, -1, 1'000'000'000'000}, "DT_INT8"},
                  {"", std::nullopt, "", {}, ""}};
  const FusionRules rules = rules_of({made, op("last", {"x"})});
  EXPECT_EQ(rules.op(0).op, made);
  EXPECT_EQ(rules.op(0).number, 0U);
  EXPECT_EQ(rules.sequence_of(0), -7);
  EXPECT_EQ(rules.name_of(1), "last");
  EXPECT_THAT(rules.members(0), ElementsAre(0U));
  EXPECT_EQ(rules.find_group("last"), 1U);
  EXPECT_FALSE(rules.find_group("x"));  // that is no operator's name
}

TEST(FusionRules, VeryManyOperatorsAreInOrder) {
  constexpr std::uint32_t kOps = 100000;
  FusionRules rules;
  for (std::uint32_t i = 0; i < kOps; ++i) {
    FusionOp each = op("network/layer/" + std::to_string(i), {std::string(500, 'o') + std::to_string(i / 2)});
    each.sequence = kOps - i;
    ASSERT_TRUE(rules.add(0, each));
  }
  rules.finish();
  EXPECT_EQ(rules.op_count(), kOps);
  EXPECT_EQ(rules.group_count(), kOps / 2);
  for (std::uint32_t i = 0; i < kOps; i += 997) {
    const auto found = rules.find("network/layer/" + std::to_string(i));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->number, i);
    EXPECT_EQ(found->index, static_cast<int>(i / 2));
    EXPECT_EQ(found->op.original_names.at(0), std::string(500, 'o') + std::to_string(i / 2));
    EXPECT_EQ(rules.in_sequence(i), kOps - 1 - i);
  }
}

TEST(FusionRules, AnOperatorThatComesAgainIsInAnotherGroupToo) {
  FusionOp first = op("a", {"one"});
  first.type = "First";
  const FusionRules rules = rules_of({first, op("a", {"one"}), op("a", {"two"}), op("a", {"one"})});
  ASSERT_EQ(rules.group_count(), 2U);
  EXPECT_THAT(rules.members(0), ElementsAre(0U));
  EXPECT_THAT(rules.members(1), ElementsAre(1U));
  EXPECT_EQ(rules.find("a")->op.type, "First");  // its last group is the first one
}

TEST(FusionRules, OutputsWithoutOriginAreThoseOfTheOnlyOriginal) {
  FusionOp renamed = op("renamed", {"original"});
  renamed.outputs.push_back({"", 0, "ND", {}, ""});
  const FusionRules rules = rules_of({renamed, op("alone", {}), op("made", {""})});
  Log log;
  const auto origin = origin_of(rules.find("renamed")->op, 0, log);
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->name, "original");
  // No output is stated: whichever is asked for is the operator's own.
  const auto own = origin_of(rules.find("alone")->op, 3, log);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->name, "alone");
  EXPECT_EQ(own->index, 3);
  const auto none = origin_of(rules.find("made")->op, 0, log);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().status, Status::no_dump_file);
}

TEST(FusionRules, InputsAreOutputsOfOthers) {
  Log log;
  const FusionOp made = op("a", {}, {"b:1", "onnx::c:0", "b:x", " :0", "b"});
  const auto edge = input_edge(made, 0, log);
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->name, "b");
  EXPECT_EQ(edge->index, 1U);
  EXPECT_THAT(input_edge(made, 1, log).error().message, HasSubstr("only supports op_name:index"));
  EXPECT_THAT(input_edge(made, 2, log).error().message, HasSubstr("only supports numbers"));
  EXPECT_THAT(input_edge(made, 3, log).error().message, HasSubstr("name is empty"));
  EXPECT_EQ(input_edge(made, 4, log).error().status, Status::json_content);
  EXPECT_EQ(input_edge(made, 5, log).error().status, Status::out_of_bounds);
}

TEST(FusionRules, OnlyWhatLiesBetweenQuantisationAndItsInverseIsLeftOut) {
  FusionRules rules =
      rules_of({with_output(op("data", {}), "data"),
                with_output(op("c1_quant_layer", {}, {"data:0"}), "c1_quant_layer", 0, "DT_INT8"),
                with_output(op("c1", {}, {"c1_quant_layer:0"}), "c1", 0, "DT_INT32"),
                with_output(op("c1_dequant_layer", {}, {"c1:0"}), "c1_dequant_layer", 0, "DT_FLOAT16"),
                with_output(op("relu", {}, {"c1_dequant_layer:0"}), "relu", 0, "DT_FLOAT16")});
  Log log;
  rules.filter_quantised(log);
  std::vector<std::string> filtered;
  for (std::uint32_t i = 0; i < rules.op_count(); ++i)
    if (const RuleOp rule = rules.op(i); rule.is_filtered) filtered.push_back(rule.op.name);
  EXPECT_THAT(filtered, ElementsAre("c1"));
  EXPECT_TRUE(log.empty());
}

TEST(FusionRules, QuantisedRulesLeadToTheModelBeforeQuantisation) {
  FusionOp quant = with_output(op("c1_quant_layer", {}), "c1_quant_layer"),
           inverse = with_output(op("c1c1_dequant_layer", {"c1", "c1_dequant_layer"}), "c1_dequant_layer");
  const FusionRules quantised =
      rules_of({with_output(op("c1_quant_layer", {"c1", "bn1", "scale1"}), "c1"),
                with_output(op("c1_dequant_layer", {"c1", "bn1", "scale1"}), "scale1"),
                op("c1", {"c1", "bn1", "scale1"})});
  Log log;
  const FusionRules merged = merge_quantised(rules_of({quant, inverse}), quantised, log);
  ASSERT_EQ(merged.group_count(), 1U);
  EXPECT_THAT(names_in(merged.group(0)), ElementsAre("c1_quant_layer", "c1c1_dequant_layer"));
  EXPECT_THAT(merged.op(0).op.original_names, ElementsAre("c1", "bn1", "scale1"));
  EXPECT_EQ(merged.op(1).op.outputs.at(0).origin_name, "scale1");
  EXPECT_EQ(merged.op(1).index, 0);
}

TEST(FusionRules, WhatTheLastOperatorTellsOfAQuantisedOutputCountsForAll) {
  FusionOp first = with_output(op("a", {"c1"}), "c1"), last = with_output(op("b", {"c1"}), "c1");
  first.outputs[0].origin_format = "NHWC";
  first.outputs[0].origin_shape = {1, 2, 3, 4};
  last.outputs[0].origin_shape = {5};
  FusionOp silent = with_output(op("c", {"c1"}), "c1");
  silent.outputs[0].origin_format.clear();
  FusionOp beyond = with_output(op("d", {"c1"}), "c1", 7);
  Log log;
  const FusionRules merged = merge_quantised(rules_of({first, last, silent, beyond}),
                                             rules_of({with_output(op("c1", {"source"}), "source")}), log);
  for (std::uint32_t i = 0; i < 3; ++i)
    EXPECT_THAT(merged.op(i).op.outputs, ElementsAre(FusionOutput{"source", 0, "NCHW", {5}, ""}));
  EXPECT_THAT(merged.op(3).op.outputs, ElementsAre(FusionOutput()));
}

TEST(FusionRules, NegativeOutputsCountFromTheEnd) {
  FusionOp two = with_output(with_output(op("c1", {"x", "y"}), "x"), "y");
  Log log;
  const FusionRules merged = merge_quantised(
      rules_of({with_output(op("a", {"c1"}), "c1", -1), with_output(op("b", {"c1"}), "c1", -3)}),
      rules_of({two}), log);
  EXPECT_EQ(merged.op(0).op.outputs.at(0).origin_name, "y");
  EXPECT_THAT(merged.op(1).op.outputs, ElementsAre(FusionOutput()));
}

TEST(FusionRules, UnfusedRulesNameTheOperatorsOfTheOtherModel) {
  const FusionRules fused = rules_of(
      {with_output(op("data", {"data"}), "data"), with_output(op("convrelu", {"conv", "relu"}), "relu")});
  const FusionRules unfused =
      rules_of({with_output(op("npu_data", {"data"}), "data"), with_output(op("npu_conv", {"conv"}), "conv"),
                with_output(op("npu_relu", {"relu"}), "relu")});
  Log log;
  const FusionRules merged = merge_unfused(fused, unfused, log);
  const auto made = merged.find("convrelu");
  ASSERT_TRUE(made);
  EXPECT_THAT(made->op.original_names, ElementsAre("npu_conv", "npu_relu"));
  EXPECT_EQ(made->op.outputs.at(0).origin_name, "npu_relu");
  EXPECT_EQ(made->op.outputs.at(0).origin_index, 0);
  EXPECT_EQ(made->index, 1);
  EXPECT_EQ(merged.name_of(merged.in_sequence(0)), "data");
}

}  // namespace
}  // namespace opdump::msaccucmp
