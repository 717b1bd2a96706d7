#include "compare/fusion_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opdump::compare {
namespace {

using format::FusionFile;
using format::FusionOp;
using format::FusionOutput;
using testing::ElementsAre;
using testing::HasSubstr;

FusionOp op(std::string name, std::vector<std::string> originals, std::vector<std::string> inputs = {}) {
  FusionOp made;
  made.name = std::move(name);
  made.type = "Op";
  made.inputs = std::move(inputs);
  made.tells_original_names = !originals.empty();
  made.original_names = originals.empty() ? std::vector{made.name} : std::move(originals);
  return made;
}

FusionOp with_output(FusionOp made, std::string origin, std::int64_t index = 0, std::string dtype = "") {
  made.outputs.push_back({std::move(origin), index, "NCHW", {}, std::move(dtype)});
  return made;
}

FusionRules rules_of(std::deque<FusionOp> ops) {
  FusionFile file;
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (ops[i].sequence == 0) ops[i].sequence = static_cast<std::int64_t>(i);
  file.graphs.push_back({std::move(ops)});
  return FusionRules(file);
}

std::vector<std::string> names_in(const FusionRules& rules, const RuleGroup& group) {
  std::vector<std::string> names;
  for (const std::size_t member : group.members) names.push_back(rules.ops()[member].op.name);
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
  for (const RuleGroup& group : rules.groups()) {
    groups.push_back(names_in(rules, group));
    relations.push_back(rules.relation_of(group));
  }
  EXPECT_THAT(groups, ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d"), ElementsAre("e"),
                                  ElementsAre("made"), ElementsAre("l1a", "l1b"), ElementsAre("plain")));
  EXPECT_THAT(relations, ElementsAre(Relation::one_to_many, Relation::many_to_many, Relation::many_to_one,
                                     Relation::one_to_one, Relation::l1, Relation::one_to_one));
  EXPECT_EQ(rules.find("d")->index, 1);
  EXPECT_EQ(rules.find("nobody"), nullptr);
}

TEST(FusionRules, OutputsWithoutOriginAreThoseOfTheOnlyOriginal) {
  FusionOp renamed = op("renamed", {"original"});
  renamed.outputs.push_back({"", 0, "ND", {}, ""});
  const FusionRules rules = rules_of({renamed, op("alone", {}), op("made", {""})});
  Journal journal;
  const auto origin = origin_of(rules.find("renamed")->op, 0, journal);
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->name, "original");
  // No output is told of: whichever is asked for is the operator's own.
  const auto own = origin_of(rules.find("alone")->op, 3, journal);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->name, "alone");
  EXPECT_EQ(own->index, 3);
  const auto none = origin_of(rules.find("made")->op, 0, journal);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.failure().status, Status::no_dump_file);
}

TEST(FusionRules, InputsAreOutputsOfOthers) {
  Journal journal;
  const FusionOp made = op("a", {}, {"b:1", "onnx::c:0", "b:x", " :0", "b"});
  const auto edge = input_edge(made, 0, journal);
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->name, "b");
  EXPECT_EQ(edge->index, 1U);
  EXPECT_THAT(input_edge(made, 1, journal).failure().message, HasSubstr("only supports op_name:index"));
  EXPECT_THAT(input_edge(made, 2, journal).failure().message, HasSubstr("only supports numbers"));
  EXPECT_THAT(input_edge(made, 3, journal).failure().message, HasSubstr("name is empty"));
  EXPECT_EQ(input_edge(made, 4, journal).failure().status, Status::json_content);
  EXPECT_EQ(input_edge(made, 5, journal).failure().status, Status::out_of_bounds);
}

TEST(FusionRules, OnlyWhatLiesBetweenQuantisationAndItsInverseIsLeftOut) {
  FusionRules rules =
      rules_of({with_output(op("data", {}), "data"),
                with_output(op("c1_quant_layer", {}, {"data:0"}), "c1_quant_layer", 0, "DT_INT8"),
                with_output(op("c1", {}, {"c1_quant_layer:0"}), "c1", 0, "DT_INT32"),
                with_output(op("c1_dequant_layer", {}, {"c1:0"}), "c1_dequant_layer", 0, "DT_FLOAT16"),
                with_output(op("relu", {}, {"c1_dequant_layer:0"}), "relu", 0, "DT_FLOAT16")});
  Journal journal;
  rules.filter_quantised(journal);
  std::vector<std::string> filtered;
  for (const RuleOp& rule : rules.ops())
    if (rule.is_filtered) filtered.push_back(rule.op.name);
  EXPECT_THAT(filtered, ElementsAre("c1"));
  EXPECT_TRUE(journal.empty());
}

TEST(FusionRules, QuantisedRulesLeadToTheModelBeforeQuantisation) {
  FusionOp quant = with_output(op("c1_quant_layer", {}), "c1_quant_layer"),
           inverse = with_output(op("c1c1_dequant_layer", {"c1", "c1_dequant_layer"}), "c1_dequant_layer");
  const FusionRules quantised =
      rules_of({with_output(op("c1_quant_layer", {"c1", "bn1", "scale1"}), "c1"),
                with_output(op("c1_dequant_layer", {"c1", "bn1", "scale1"}), "scale1"),
                op("c1", {"c1", "bn1", "scale1"})});
  Journal journal;
  const FusionRules merged = merge_quantised(rules_of({quant, inverse}), quantised, journal);
  ASSERT_EQ(merged.groups().size(), 1U);
  EXPECT_THAT(names_in(merged, merged.groups()[0]), ElementsAre("c1_quant_layer", "c1c1_dequant_layer"));
  EXPECT_THAT(merged.ops()[0].op.original_names, ElementsAre("c1", "bn1", "scale1"));
  EXPECT_EQ(merged.ops()[1].op.outputs.at(0).origin_name, "scale1");
  EXPECT_EQ(merged.ops()[1].index, 0);
}

TEST(FusionRules, UnfusedRulesNameTheOperatorsOfTheOtherModel) {
  const FusionRules fused = rules_of(
      {with_output(op("data", {"data"}), "data"), with_output(op("convrelu", {"conv", "relu"}), "relu")});
  const FusionRules unfused =
      rules_of({with_output(op("npu_data", {"data"}), "data"), with_output(op("npu_conv", {"conv"}), "conv"),
                with_output(op("npu_relu", {"relu"}), "relu")});
  Journal journal;
  const FusionRules merged = merge_unfused(fused, unfused, journal);
  const RuleOp* made = merged.find("convrelu");
  ASSERT_NE(made, nullptr);
  EXPECT_THAT(made->op.original_names, ElementsAre("npu_conv", "npu_relu"));
  EXPECT_EQ(made->op.outputs.at(0).origin_name, "npu_relu");
  EXPECT_EQ(made->op.outputs.at(0).origin_index, 0);
  EXPECT_EQ(made->index, 1);
  EXPECT_EQ(merged.ops()[merged.in_sequence().front()].op.name, "data");
}

}  // namespace
}  // namespace opdump::compare
