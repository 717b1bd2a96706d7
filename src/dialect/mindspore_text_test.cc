#include "dialect/mindspore_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

namespace opdump::dialect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string steps(std::string_view text, bool strict) {
  std::vector<std::string> never_matching;
  const auto parsed = parse_iteration(text, strict, never_matching);
  return parsed ? parsed->format() : "error: " + parsed.error().message();
}

TEST(Iteration, StepsRangesAndAll) {
  for (const bool strict : {false, true}) {
    EXPECT_EQ(steps("all", strict), "all");
    EXPECT_EQ(steps("0", strict), "0");
    EXPECT_EQ(steps("0|5-8|100-120", strict), "0|5-8|100-120");
    EXPECT_EQ(steps("9|3-4|1|4-8", strict), "1|3-9");
    EXPECT_EQ(steps("007|08-010", strict), "7-10");
    EXPECT_EQ(steps("5-5", strict), "5");
    EXPECT_EQ(steps("18446744073709551615", strict), "18446744073709551615");
  }
}

TEST(Iteration, RefusedAlways) {
  for (const bool strict : {false, true})
    for (const char* text : {"", "ALL", "all|3", "a", "1,2", "1+2", "1.5", "|all", "*", "1\n2"})
      EXPECT_THAT(steps(text, strict), HasSubstr("iteration only supports digits")) << text;
}

TEST(Iteration, BlanksAreRefusedOnlyStrictly) {
  EXPECT_EQ(steps("0 | 5-8 | 100-120", false), "0|5-8|100-120");
  EXPECT_EQ(steps("  5 - 8\t|1 ", false), "1|5-8");
  EXPECT_EQ(steps(" all ", false), "all");
  EXPECT_THAT(steps("0 | 5-8", true), HasSubstr("iteration only supports"));
  EXPECT_THAT(steps(" all", true), HasSubstr("iteration only supports"));
}

TEST(Iteration, SegmentsThatNeverMatch) {
  const std::pair<const char*, const char*> cases[] = {
      {"1||2", "nothing before, between or after its bars"},
      {"1|2|", "nothing before, between or after its bars"},
      {"1|-5|2", "\"-5\" is neither a step nor a range"},
      {"1|5-|2", "\"5-\" is neither a step nor a range"},
      {"1|1-2-3|2", "\"1-2-3\" is neither a step nor a range"},
      {"1|8-5|2", "runs backwards; write \"5-8\""},
      {"1|18446744073709551616|2", "\"18446744073709551616\" is too large"},
      {"1|3-99999999999999999999999|2", "is too large"},
      {"1|-|2", "neither"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(steps(text, true), "1-2") << text;
    EXPECT_THAT(steps(text, false), HasSubstr(message)) << text;
  }
  EXPECT_EQ(steps("8-5", true), "none");
  EXPECT_THAT(steps("1 2", false), HasSubstr("\"1 2\" is neither"));
  std::vector<std::string> never_matching;
  ASSERT_TRUE(parse_iteration("8-5|3|1-2-3", true, never_matching));
  EXPECT_THAT(never_matching, ElementsAre("8-5", "1-2-3"));
}

TEST(Iteration, ManyDescendingStepsAreFast) {
  std::string text = "1";
  for (int i = 600'000; i > 2; i -= 2) text += "|" + std::to_string(i);
  EXPECT_THAT(steps(text, true), HasSubstr("1|4|6|8|10|"));
}

class Path : public testing::Test {
 protected:
  std::string resolve(std::string_view text, bool strict = false) const {
    DialectOptions options;
    options.strict = strict;
    options.environment = [this](std::string_view name) -> std::optional<std::string> {
      const auto found = variables.find(std::string(name));
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    const auto path = parse_path(text, options);
    return path ? path->string() : "error: " + path.error().message();
  }

  std::map<std::string, std::string> variables{{"HOME", "/home/me"}, {"RUN_1", "r1"}, {"EMPTY", ""}};
};

TEST_F(Path, PlainAbsolutePathsAlwaysWork) {
  for (const bool strict : {false, true}) {
    EXPECT_EQ(resolve("/absolute_path", strict), "/absolute_path");
    EXPECT_EQ(resolve("/A-1//b_2/", strict), "/A-1/b_2");
    EXPECT_EQ(resolve("/", strict), "/");
  }
}

TEST_F(Path, StrictRefusesOtherCharacters) {
  for (const char* text : {"/tmp/run.1", "/my data", "~/x", "$HOME/x", "/x/\xC3\xA4", "/x\t"})
    EXPECT_THAT(resolve(text, true), HasSubstr("path only supports alphabets")) << text;
  EXPECT_THAT(resolve("relative", true), HasSubstr("should start with '/'"));
}

TEST_F(Path, OtherwiseTheyAreFine) {
  EXPECT_EQ(resolve("/tmp/run.1"), "/tmp/run.1");
  EXPECT_EQ(resolve("/my data"), "/my data");
  EXPECT_EQ(resolve("/x/../y/./z"), "/x/../y/z");
  EXPECT_EQ(resolve("relative/x"), std::filesystem::current_path().string() + "/relative/x");
  EXPECT_EQ(resolve("."), std::filesystem::current_path().string());
  EXPECT_THAT(resolve("/a\nb"), HasSubstr("control characters"));
  EXPECT_THAT(resolve(std::string_view("/a\0b", 4)), HasSubstr("control characters"));
}

TEST_F(Path, HomeAndVariables) {
  EXPECT_EQ(resolve("~"), "/home/me");
  EXPECT_EQ(resolve("~/x"), "/home/me/x");
  EXPECT_EQ(resolve("$HOME/x"), "/home/me/x");
  EXPECT_EQ(resolve("/d/${RUN_1}x/$RUN_1-y"), "/d/r1x/r1-y");
  EXPECT_EQ(resolve("/a$/$-b"), "/a$/$-b");
  EXPECT_EQ(resolve("/a$$HOME/$$"), "/a$HOME/$");
  EXPECT_EQ(resolve("/a~b"), "/a~b");
  EXPECT_THAT(resolve("~you/x"), HasSubstr("only \"~/\""));
  EXPECT_THAT(resolve("$NOPE/x"), HasSubstr("variable NOPE is not set"));
  EXPECT_THAT(resolve("$EMPTY/x"), HasSubstr("variable EMPTY is not set"));
  EXPECT_THAT(resolve("/${HOME"), HasSubstr("needs a variable's name"));
  EXPECT_THAT(resolve("/${}"), HasSubstr("needs a variable's name"));
  EXPECT_THAT(resolve("/${A-B}"), HasSubstr("needs a variable's name"));
}

TEST_F(Path, LongerThanTheSystemAllows) {
  EXPECT_THAT(resolve("/" + std::string(5000, 'a'), true), HasSubstr("longer than 4095 bytes"));
  EXPECT_THAT(resolve("/" + std::string(5000, 'a')), HasSubstr("longer than 4095 bytes"));
}

TEST(NetName, Characters) {
  EXPECT_TRUE(check_net_name("ResNet-50_v2"));
  for (const char* text : {"", "a b", "a.b", "a/b", "\xC3\xA4"}) EXPECT_FALSE(check_net_name(text)) << text;
}

std::string kernel(const char* json, bool strict, bool search = false) {
  const auto rule = parse_kernel(nlohmann::json::parse(json), strict, search);
  if (!rule) return "error: " + rule.error().message();
  if (!*rule) return "nothing";
  constexpr std::string_view kKinds[] = {"regex ", "search ", "name ", "type "};
  return std::string(kKinds[static_cast<int>((*rule)->kind)]) + (*rule)->text;
}

TEST(Kernel, Classification) {
  for (const bool strict : {false, true}) {
    EXPECT_EQ(kernel(R"j("conv")j", strict), "type conv");
    EXPECT_EQ(kernel(R"j("Conv2D-op12")j", strict), "name Conv2D-op12");
    EXPECT_EQ(kernel(R"j("Default/Conv")j", strict), "name Default/Conv");
    EXPECT_EQ(kernel(R"j("name-regex(Default/.+)")j", strict), "regex Default/.+");
    EXPECT_EQ(kernel(R"j("name-regex((a)(b))")j", strict), "regex (a)(b)");
    EXPECT_EQ(kernel(R"j("name-regex(Default/.+)")j", strict, true), "search Default/.+");
    EXPECT_EQ(kernel(R"j(" Default/ Conv-op1 ")j", strict), "name Default/Conv-op1");
    EXPECT_EQ(kernel(R"j("name-regex(a b)")j", strict), "regex ab");
    EXPECT_EQ(kernel(R"j("")j", strict), "nothing");
    EXPECT_EQ(kernel(R"j("  ")j", strict), "nothing");
  }
}

TEST(Kernel, StrictDoublesBackslashes) {
  EXPECT_EQ(kernel(R"j("name-regex(Default/Conv\\d+)")j", false), R"j(regex Default/Conv\d+)j");
  EXPECT_EQ(kernel(R"j("name-regex(Default/Conv\\d+)")j", true), R"j(regex Default/Conv\\d+)j");
}

TEST(Kernel, WhatCanOnlyBeAMistake) {
  EXPECT_THAT(kernel(R"j("name-regex(a/b")j", false), HasSubstr("should end with"));
  EXPECT_EQ(kernel(R"j("name-regex(a/b")j", true), "name name-regex(a/b");
  EXPECT_EQ(kernel(R"j("name-regex(a)b")j", true), "type name-regex(a)b");
  EXPECT_THAT(kernel(R"j("name-regex()")j", false), HasSubstr("nothing in its brackets"));
  EXPECT_EQ(kernel(R"j("name-regex()")j", true), "regex ");
}

TEST(Kernel, ElementsThatAreNotStrings) {
  EXPECT_THAT(kernel("5", false), HasSubstr("should be string type"));
  EXPECT_EQ(kernel("5", true), "type 5");
  EXPECT_EQ(kernel("null", true), "type null");
  EXPECT_EQ(kernel(R"j({"a": ["b/c"]})j", true), "name {a:[b/c]}");
  const std::string deep = std::string(10'000, '[') + std::string(10'000, ']');
  EXPECT_THAT(kernel(deep.c_str(), true), HasSubstr("nested too deep"));
}

}  // namespace
}  // namespace opdump::dialect
