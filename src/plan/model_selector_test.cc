#include "plan/model_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opdump::plan {
namespace {

using model::Side;
using testing::ElementsAre;
using testing::HasSubstr;

model::Operator make_operator(std::string name, std::int64_t graph_id = 1, std::string type = "Conv2D") {
  return {.type = std::move(type), .name = std::move(name), .graph_id = graph_id, .source_file = {}};
}

TEST(ModelSelector, WithoutRulesSelectsEverything) {
  ModelSelector selector;
  EXPECT_TRUE(selector.selects_all());
  EXPECT_TRUE(selector.choose(make_operator("conv1")).wanted);
  EXPECT_TRUE(selector.choose(make_operator("conv1", model::kAnyGraph)).wanted);
}

TEST(ModelSelector, TheFileNameWinsOverTheNameInside) {
  ModelSelector selector;
  selector.add({.model = "inside", .lists_operators = true, .operators = {"a"}});
  selector.add({.model = "file", .lists_operators = true, .operators = {"b"}});
  selector.define_model(1, {"inside", "file"});
  selector.define_model(2, {"inside", "other"});
  selector.define_model(3, {"third", ""});
  EXPECT_FALSE(selector.choose(make_operator("a", 1)).wanted);
  EXPECT_TRUE(selector.choose(make_operator("b", 1)).wanted);
  EXPECT_TRUE(selector.choose(make_operator("a", 2)).wanted);
  EXPECT_FALSE(selector.choose(make_operator("a", 3)).wanted);
  EXPECT_EQ(selector.directory_name(1), "file");
  EXPECT_EQ(selector.directory_name(2), "inside");
  EXPECT_EQ(selector.directory_name(3), "third");
  selector.define_model(4, {"torch_jit", "resnet50"});
  EXPECT_EQ(selector.directory_name(4), "resnet50");
}

// One item without a model turns those with one off; of several for one model the last list counts.
TEST(ModelSelector, NamelessRulesAndRepeatedOnes) {
  ModelSelector selector;
  selector.add({.model = "m", .lists_operators = true, .operators = {"a"}});
  selector.add({.model = "m", .lists_operators = true, .operators = {"b"}});
  selector.define_model(1, {"m", ""});
  EXPECT_FALSE(selector.choose(make_operator("a")).wanted);
  EXPECT_TRUE(selector.choose(make_operator("b")).wanted);
  selector.add({.model = "", .lists_operators = true, .operators = {"c"}});
  EXPECT_FALSE(selector.choose(make_operator("b")).wanted);
  EXPECT_TRUE(selector.choose(make_operator("c")).wanted);
  selector.select_all_models();
  EXPECT_TRUE(selector.choose(make_operator("d")).wanted);
}

TEST(ModelSelector, NamesAreThoseOfFilesToo) {
  for (const char* text : {"Default/fc-Linear/addmm-op0", "Default_fc-Linear_addmm-op0",
                           "Default/fc_Linear/addmm_op0", "Default_fc_Linear_addmm_op0"}) {
    ModelSelector selector;
    selector.add({.model = "", .lists_operators = true, .operators = {text}});
    EXPECT_TRUE(selector.choose(make_operator("Default/fc-Linear/addmm-op0")).wanted) << text;
    EXPECT_FALSE(selector.choose(make_operator("Default/fc-Linear/addmm-op1")).wanted) << text;
    EXPECT_TRUE(selector.describe_unmatched({}).empty()) << text;
  }
}

// With the call's prefix all names would be far away.
TEST(ModelSelector, NamesNearOneWithItsCall) {
  ModelSelector selector;
  selector.add(
      {.model = "", .lists_operators = true, .operators = {"StatefulPartitionedCall/net/dense/Bias"}});
  EXPECT_FALSE(selector.choose(make_operator("net/dense/BiasAdd")).wanted);
  const std::string_view names[] = {"net/dense/BiasAdd", "net/dense/MatMul"};
  EXPECT_THAT(selector.describe_unmatched(names),
              ElementsAre("no operator is the layer 'StatefulPartitionedCall/net/dense/Bias' of dump_list; "
                          "nearest: net/dense/BiasAdd or net/dense/MatMul"));
}

// TorchAir's dump_layer = "Add Add_1" has names of the graph engine: a type, and its number in the graph.
TEST(ModelSelector, NamesOfTheGraphEngine) {
  ModelSelector selector;
  selector.add({.model = "", .lists_operators = true, .operators = {"Add_1", "MatMulV2", "Add_7", "Softmx"}});
  const std::pair<const char*, const char*> program[] = {
      {"mm", "Default/mm-op0"},           {"add", "Default/add-op0"}, {"relu", "Default/relu-op0"},
      {"add_", "Default/block/add_-op0"}, {"add", "Default/add-op1"}, {"_softmax", "Default/_softmax-op0"}};
  for (const std::int64_t graph : {1, 2}) {
    std::vector<std::string> wanted;
    for (const auto& [type, name] : program)
      if (selector.choose(make_operator(name, graph, type)).wanted) wanted.emplace_back(name);
    EXPECT_THAT(wanted, ElementsAre("Default/mm-op0", "Default/block/add_-op0")) << graph;
  }
  EXPECT_FALSE(
      selector.choose(make_operator("Add_1x", 1, "Add")).wanted);  // not PyTorch's: it has its own names
  std::vector<std::string_view> names;
  for (const auto& [type, name] : program) names.emplace_back(name);
  EXPECT_THAT(selector.describe_unmatched(names),
              ElementsAre("no operator is the layer 'Add_7' of dump_list; nearest: Default/add-op0, "
                          "Default/block/add_-op0 or Default/add-op1",
                          "no operator is the layer 'Softmx' of dump_list; nearest: Default/_softmax-op0"));
}

TEST(ModelSelector, OperatorsOfAFunctionWithAndWithoutItsCall) {
  for (const auto& [text, name] :
       {std::pair("StatefulPartitionedCall/net/dense/BiasAdd", "net/dense/BiasAdd"),
        std::pair("net/dense/BiasAdd", "StatefulPartitionedCall/net/dense/BiasAdd"),
        std::pair("StatefulPartitionedCall_net_dense_BiasAdd", "net/dense/BiasAdd")}) {
    ModelSelector selector;
    selector.add({.model = "", .lists_operators = true, .operators = {text}});
    EXPECT_TRUE(selector.choose(make_operator(name)).wanted) << text;
    EXPECT_TRUE(selector.describe_unmatched({}).empty()) << text;
  }
}

TEST(ModelSelector, OriginalNamesCount) {
  ModelSelector selector;
  selector.add({.model = "", .lists_operators = true, .operators = {"relu1", "gone"}});
  model::Operator fused = make_operator("conv1relu1");
  fused.original_names = {"conv1", "relu1"};
  EXPECT_TRUE(selector.choose(fused).wanted);
  const std::vector<std::string_view> names{"conv1relu1", "gonee", "gonee"};  // of two graphs
  EXPECT_THAT(selector.describe_unmatched(names),
              ElementsAre("no operator is the layer 'gone' of dump_list; nearest: gonee"));
}

TEST(ModelSelector, RangesFollowTheOrderOfExecution) {
  ModelSelector selector;
  selector.add({.model = "m", .ranges = {{"b", "c"}}});
  selector.define_model(1, {"m", ""});
  std::string wanted;
  for (const char* name : {"a", "b", "x", "c", "d"})
    if (selector.choose(make_operator(name)).wanted) wanted += name;
  EXPECT_EQ(wanted, "bxc");
}

TEST(ModelSelector, ExclusionsOfTypeAndNameMerge) {
  ModelSelector selector;
  selector.add({.model = "", .by_type = {{"Conv2D", {{Side::input, 1}}}}, .watched = {}});
  selector.add({.model = "", .by_name = {{"a", {{Side::input, 1}, {Side::output, 0}}}}});
  EXPECT_THAT(selector.choose(make_operator("a")).excluded,
              ElementsAre(SlotPosition{Side::input, 1}, SlotPosition{Side::output, 0}));
  EXPECT_TRUE(selector.choose(make_operator("b", 1, "Relu")).excluded.empty());
}

TEST(ModelSelector, WatchedOperatorsAndThoseThatMayHarmThem) {
  ModelSelector selector;
  selector.add({.model = "", .lists_operators = true, .operators = {"a", "c", "h"}, .watched = {"c"}});
  EXPECT_TRUE(selector.watches());
  const auto a = selector.choose(make_operator("a")), c = selector.choose(make_operator("c")),
             h = selector.choose(make_operator("h", 1, "HcomAllReduce"));
  EXPECT_TRUE(a.watches && !a.watched && !a.wanted);
  EXPECT_TRUE(!c.watches && c.watched && c.wanted);
  EXPECT_FALSE(h.watches || h.wanted);
}

TEST(ModelSelector, OperatorsOfNoModel) {
  ModelSelector selector;
  selector.select_no_models();
  selector.set_single_operators(true);
  EXPECT_TRUE(selector.choose(make_operator("a", model::kAnyGraph)).wanted);
  EXPECT_FALSE(selector.choose(make_operator("a", 1)).wanted);
  selector.set_single_operators(false);
  EXPECT_FALSE(selector.choose(make_operator("a", model::kAnyGraph)).wanted);
}

TEST(ModelSelector, AModelThatWasNotThere) {
  ModelSelector selector;
  selector.add({.model = "resnet50"});
  selector.define_model(1, {"torch_jit", "resnet_50"});
  selector.define_model(2, {"resnet_50", "resnet_50"});
  EXPECT_FALSE(selector.choose(make_operator("a")).wanted);
  EXPECT_THAT(selector.describe_unmatched({}),
              ElementsAre("there was no model 'resnet50' of dump_list; nearest: resnet_50"));
}

}  // namespace
}  // namespace opdump::plan
