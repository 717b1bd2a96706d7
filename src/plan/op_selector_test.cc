#include "plan/op_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(OpSelector, RegexHitsAreTold) {
  OpSelector selector;
  ASSERT_TRUE(selector.add(RuleKind::type, "relu"));
  ASSERT_TRUE(selector.add(RuleKind::regex_search, "conv[12]"));
  EXPECT_TRUE(selector.matches_regex("Default/conv1/mm-op0"));
  EXPECT_FALSE(selector.matches_regex("Default/relu-op0"));
  for (const OpSelector::Rule& rule : selector.rules()) EXPECT_EQ(rule.matches, 0u);
}

}  // namespace
}  // namespace opdump::plan
