#include "plan/op_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text/text.h"

namespace opdump::plan {
namespace {

using testing::HasSubstr;

constexpr std::string_view kConv = "Default/network-WithLossCell/conv1-Conv2d/Conv2D-op12";

OpSelector make_selector(RuleKind kind, std::string text) {
  OpSelector selector;
  EXPECT_TRUE(selector.add(kind, std::move(text)));
  return selector;
}

TEST(BaseName, IsBetweenTheLastSlashAndTheLastDash) {
  EXPECT_EQ(base_name(kConv), "Conv2D");
  EXPECT_EQ(base_name("Add"), "Add");
  EXPECT_EQ(base_name("Default/Add"), "Add");
  EXPECT_EQ(base_name("a-b/Add"), "Add");  // the last dash lies before the slash
  EXPECT_EQ(base_name("Default/Add-op1-x"), "Add-op1");
  EXPECT_EQ(base_name("Default/-op1"), "");
  EXPECT_EQ(base_name("a/"), "");
  EXPECT_EQ(base_name(""), "");
}

TEST(OpSelector, WithoutRulesSelectsEverything) {
  OpSelector selector;
  EXPECT_TRUE(selector.selects_all());
  EXPECT_TRUE(selector.wants("anything"));
  EXPECT_TRUE(selector.wants(""));
}

TEST(OpSelector, NameIsWholeAndCaseSensitive) {
  OpSelector selector = make_selector(RuleKind::name, std::string(kConv));
  EXPECT_FALSE(selector.selects_all());
  EXPECT_TRUE(selector.wants(kConv));
  EXPECT_FALSE(selector.wants("Default/network-WithLossCell/conv1-Conv2d/conv2d-op12"));
  EXPECT_FALSE(selector.wants("Default/network-WithLossCell/conv1-Conv2d/Conv2D-op1"));
}

TEST(OpSelector, TypeIsPartOfTheBaseNameInAnyCase) {
  OpSelector selector = make_selector(RuleKind::type, "CONV");
  EXPECT_TRUE(selector.wants(kConv));
  EXPECT_TRUE(selector.wants("Default/DepthwiseConv2dNative-op3"));
  EXPECT_TRUE(selector.wants("conv2d"));
  EXPECT_FALSE(selector.wants("Default/conv1-Conv2d/BiasAdd-op2"));  // only in the scope
}

TEST(OpSelector, RegexMatchesTheWholeName) {
  OpSelector selector = make_selector(RuleKind::regex, R"(Default/.+/Conv\d?D-op[0-9]+)");
  EXPECT_TRUE(selector.wants(kConv));
  EXPECT_FALSE(selector.wants(std::string(kConv) + "x"));
  EXPECT_FALSE(make_selector(RuleKind::regex, "Conv2D").wants(kConv));
  // Alternatives are anchored as a whole.
  EXPECT_FALSE(make_selector(RuleKind::regex, "Default|x").wants(kConv));
}

TEST(OpSelector, RegexSearchMatchesAPart) {
  EXPECT_TRUE(make_selector(RuleKind::regex_search, "Conv[0-9]D").wants(kConv));
  EXPECT_FALSE(make_selector(RuleKind::regex_search, "^Conv").wants(kConv));
}

TEST(OpSelector, CountsTheFirstRuleThatMatches) {
  OpSelector selector;
  ASSERT_TRUE(selector.add(RuleKind::type, "conv"));
  ASSERT_TRUE(selector.add(RuleKind::name, std::string(kConv)));
  ASSERT_TRUE(selector.add(RuleKind::regex, ".*op12"));
  ASSERT_TRUE(selector.add(RuleKind::type, "never"));
  EXPECT_TRUE(selector.wants(kConv));                 // the regex
  EXPECT_TRUE(selector.wants("Default/Conv3D-op1"));  // the type
  EXPECT_FALSE(selector.wants("Default/Add-op1"));
  const auto rules = selector.rules();
  ASSERT_EQ(rules.size(), 4U);
  EXPECT_EQ(rules[0].matches, 1U);
  EXPECT_EQ(rules[1].matches, 0U);
  EXPECT_EQ(rules[2].matches, 1U);
  EXPECT_EQ(rules[3].matches, 0U);
  EXPECT_EQ(rules[2].text, ".*op12");
}

TEST(OpSelector, BadRegexSaysWhatAndWhere) {
  OpSelector selector;
  const auto bracket = selector.add(RuleKind::regex, "Default/[a-");
  ASSERT_FALSE(bracket);
  EXPECT_EQ(bracket.error().code(), Code::config);
  EXPECT_THAT(bracket.error().message(), HasSubstr("\"Default/[a-\" is not a regular expression"));
  EXPECT_THAT(bracket.error().message(), HasSubstr("at character 9"));
  const auto look_ahead = selector.add(RuleKind::regex, "(?!Default).*");
  ASSERT_FALSE(look_ahead);
  EXPECT_THAT(look_ahead.error().message(), HasSubstr("look-around"));
  const auto back_reference = selector.add(RuleKind::regex, R"((a)\1)");
  ASSERT_FALSE(back_reference);
  EXPECT_THAT(back_reference.error().message(), HasSubstr("back-references"));
  EXPECT_FALSE(selector.add(RuleKind::regex, "((a{1000}){1000}){1000}"));
  EXPECT_TRUE(selector.selects_all());  // what was refused left no trace
}

TEST(OpSelector, RegexesAreLimited) {
  OpSelector selector;
  for (std::size_t i = 0; i < OpSelector::kMaxRegexes; ++i) ASSERT_TRUE(selector.add(RuleKind::regex, "a"));
  EXPECT_FALSE(selector.add(RuleKind::regex, "a"));
  EXPECT_TRUE(selector.add(RuleKind::name, "a/b"));
}

TEST(OpSelector, SurvivesAMove) {
  OpSelector selector = make_selector(RuleKind::type, "add");
  OpSelector moved;
  moved = std::move(selector);
  EXPECT_TRUE(moved.wants("Default/Add-op0"));
  EXPECT_FALSE(moved.wants("Default/Mul-op0"));
}

TEST(ModulePath, IsWrittenAsInTorch) {
  EXPECT_EQ(module_path("Default/layers-Sequential/3-Linear/addmm-op0"), "layers.3");
  EXPECT_EQ(module_path("Gradients/Default/a-b-Linear/addmm_backward-op0"), "a-b");
  EXPECT_EQ(module_path("Default/MSELoss/mse_loss-op0"), "MSELoss");
  EXPECT_EQ(module_path("Default/relu-op0"), "");
  EXPECT_EQ(module_path("relu"), "");
}

TEST(OpSelector, OpsMatchAPartOfTheTypeOrTheWholeName) {
  OpSelector selector;
  ASSERT_TRUE(selector.narrow(FilterKind::ops, "Conv|^add$|Default/fc-Linear/t-op1"));
  EXPECT_FALSE(selector.selects_all());
  EXPECT_TRUE(selector.wants("Default/a-Conv2d/convolution-op0"));
  EXPECT_TRUE(selector.wants("Gradients/Default/a-Conv2d/convolution_backward-op0"));
  EXPECT_FALSE(selector.wants("Default/conv-Block/relu-op0"));
  EXPECT_TRUE(selector.wants("Default/add-op0"));
  EXPECT_FALSE(selector.wants("Default/add_-op0"));
  EXPECT_TRUE(selector.wants("Default/fc-Linear/t-op1"));
  EXPECT_FALSE(selector.wants("Default/fc-Linear/t-op10"));
}

TEST(OpSelector, ModuleMatchesWholePartsOfThePath) {
  const auto selects = [](const char* pattern, const char* path) {
    OpSelector selector;
    EXPECT_TRUE(selector.narrow(FilterKind::module, pattern)) << pattern;
    std::string name = "Default/";
    for (const std::string_view part : split(path, '.')) name.append(part).append("-Class/");
    return selector.wants(name + "relu-op0");
  };
  for (const char* path : {"layers.3", "layers.3.attention", "model.layers.3", "model.layers.3.fc"})
    EXPECT_TRUE(selects("layers.3", path)) << path;
  for (const char* path : {"layers", "layers.30", "layers.2", "mylayers.3"})
    EXPECT_FALSE(selects("layers.3", path)) << path;
  EXPECT_TRUE(selects("layers\\.[0-2]|head", "layers.1"));
  EXPECT_TRUE(selects("layers\\.[0-2]|head", "head"));
  EXPECT_FALSE(selects("^layers", "model.layers.3"));
  EXPECT_TRUE(selects("layers.3$", "model.layers.3"));
  EXPECT_FALSE(selects("layers.3$", "layers.3.fc"));
  EXPECT_FALSE(selects("Layers.3", "layers.3"));
  OpSelector outside;
  ASSERT_TRUE(outside.narrow(FilterKind::module, "layers"));
  EXPECT_FALSE(outside.wants("Default/relu-op0"));
}

TEST(OpSelector, FiltersNarrowTheRules) {
  OpSelector selector;
  ASSERT_TRUE(selector.add(RuleKind::type, "conv"));
  ASSERT_TRUE(selector.narrow(FilterKind::module, "a"));
  EXPECT_TRUE(selector.wants("Default/a-Block/conv2d-op0"));
  EXPECT_FALSE(selector.wants("Default/a-Block/relu-op0"));
  EXPECT_FALSE(selector.wants("Default/b-Block/conv2d-op0"));
  EXPECT_FALSE(selector.narrow(FilterKind::ops, ""));
  EXPECT_FALSE(selector.narrow(FilterKind::ops, "a("));
  EXPECT_EQ(selector.filters().size(), 1u);
}

TEST(DescribeUnmatched, NamesTheFilterThatFoundNothing) {
  const std::vector<std::string_view> names{"Default/layers-Sequential/3-Linear/addmm-op0",
                                            "Default/head-Linear/softmax-op0"};
  const auto unmatched = [&](const char* ops, const char* module) {
    OpSelector selector;
    EXPECT_TRUE(selector.narrow(FilterKind::ops, ops) && selector.narrow(FilterKind::module, module));
    for (const std::string_view name : names) selector.wants(name);
    return describe_unmatched(selector, names);
  };
  using testing::ElementsAre;
  EXPECT_TRUE(unmatched("addmm", "layers").empty());
  EXPECT_THAT(unmatched("adm", "layers"), ElementsAre("no operator matched ops 'adm'; nearest: addmm"));
  EXPECT_THAT(unmatched("addmm", "layer.3"),
              ElementsAre("no operator matched module 'layer.3'; nearest: layers.3"));
  EXPECT_THAT(unmatched("softmax", "layers"),
              ElementsAre("no operator matched ops 'softmax' and module 'layers' together"));
}

TEST(OpSelector, ARegexThatIsWrittenAsATypeIsExplained) {
  OpSelector selector;
  ASSERT_TRUE(selector.add(RuleKind::type, ".+Add.*"));
  ASSERT_TRUE(selector.add(RuleKind::type, "Ad"));
  const std::vector<std::string_view> names{"Default/mul-op0"};
  EXPECT_THAT(describe_unmatched(selector, names),
              testing::ElementsAre(
                  "no operator matched '.+Add.*' of the kernels list; a regular expression is written "
                  "name-regex(.+Add.*)",
                  "no operator matched 'Ad' of the kernels list"));
}

TEST(OpSelector, RegexHitsAreTold) {
  OpSelector selector;
  ASSERT_TRUE(selector.add(RuleKind::type, "relu"));
  ASSERT_TRUE(selector.add(RuleKind::regex_search, "conv[12]"));
  EXPECT_TRUE(selector.matches_regex("Default/conv1/mm-op0"));
  EXPECT_FALSE(selector.matches_regex("Default/relu-op0"));
  for (const OpSelector::SelectorRule& rule : selector.rules()) EXPECT_EQ(rule.matches, 0u);
}

}  // namespace
// MindSpore's own files name types as MindSpore does.
TEST(OpSelector, TypesHaveMindSporesNames) {
  const auto selects = [](const char* text, const char* name) {
    OpSelector selector;
    EXPECT_TRUE(selector.add(RuleKind::type, text));
    return selector.wants(name);
  };
  EXPECT_TRUE(selects("Conv2D", "Default/conv1-Conv2d/convolution-op0"));
  EXPECT_TRUE(selects("Conv2DBackpropInput", "Gradients/Default/conv1-Conv2d/convolution_backward-op0"));
  EXPECT_TRUE(selects("MatMul", "Default/fc-Linear/addmm-op0"));
  EXPECT_TRUE(selects("BiasAdd", "Default/fc-Linear/addmm-op0"));
  EXPECT_TRUE(selects("BatchNorm", "Default/native_batch_norm-op0"));
  EXPECT_TRUE(selects("RealDiv", "Default/div_-op0"));
  EXPECT_TRUE(selects("transpose", "Default/t-op0"));
  EXPECT_FALSE(selects("Conv2D", "Gradients/Default/conv1-Conv2d/addmm-op0"));
  EXPECT_FALSE(selects("mul", "Default/fc-Linear/mm-op0")) << "MatMul is another name";
  EXPECT_FALSE(selects("Mul", "Default/fc-Linear/addmm-op0"));
  EXPECT_FALSE(selects("relu", "Gradients/Default/relu-ReLU/threshold_backward-op0")) << "ReluGrad does";
  EXPECT_FALSE(selects("add", "Default/sum-op0"));
  EXPECT_FALSE(selects("MatMulV2", "Default/mm-op0"));
}

}  // namespace opdump::plan
