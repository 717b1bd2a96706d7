#include "dialect/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "dialect/dialects.h"

namespace opdump::dialect {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

plan::DumpPlan plan_of(const Request& request) {
  auto text = make_config(request);
  EXPECT_TRUE(text) << text.error().message();
  auto plan = make_plan("opdump_config.json", text ? *text : "", "", DialectOptions());
  EXPECT_TRUE(plan) << plan.error().message();
  return plan ? std::move(*plan) : plan::DumpPlan();
}

std::string complaint(const Request& request) {
  const auto text = make_config(request);
  EXPECT_FALSE(text);
  if (text) return "";
  EXPECT_EQ(text.error().code(), Code::config);
  return text.error().message();
}

TEST(Request, DefaultsAreTheTensorsOfStep0) {
  const plan::DumpPlan plan = plan_of({.output = "golden"});
  EXPECT_EQ(plan.root, std::filesystem::current_path() / "golden");
  EXPECT_EQ(plan.content, plan::Content::tensor);
  EXPECT_EQ(plan.steps.format(), "0");
  EXPECT_TRUE(plan.operators.selects_all());
  EXPECT_EQ(plan.budget_bytes, plan::kFifthOfSpace);
  EXPECT_EQ(plan.scheme, plan::SchemeKind::rank_tree);
  EXPECT_TRUE(plan.warnings.empty()) << plan.warnings.front();
}

TEST(Request, EveryOptionIsInThePlan) {
  plan::DumpPlan plan = plan_of({.output = "/d/golden",
                                 .steps = "10-20, 0",
                                 .ops = "conv|addmm",
                                 .module = "layers.3",
                                 .budget = "20G",
                                 .statistics = true});
  EXPECT_EQ(plan.root, "/d/golden");
  EXPECT_EQ(plan.steps.format(), "0|10-20");
  EXPECT_EQ(plan.content, plan::Content::statistics);
  EXPECT_EQ(plan.budget_bytes, std::uint64_t{20} << 30);
  EXPECT_TRUE(plan.operators.wants("Default/layers-Sequential/3-Linear/addmm-op0"));
  EXPECT_FALSE(plan.operators.wants("Default/layers-Sequential/3-Linear/relu-op0"));
  EXPECT_FALSE(plan.operators.wants("Default/layers-Sequential/4-Linear/addmm-op0"));
  EXPECT_EQ(plan_of({.output = "d", .steps = "all", .tensors = true, .statistics = true}).content,
            plan::Content::both);
  EXPECT_TRUE(plan_of({.output = "d", .steps = "all"}).steps.is_all());
}

TEST(Request, AnyNameOfAFolderIsItself) {
  EXPECT_EQ(plan_of({.output = "/d/$HOME ${x} ~ \"q\" \xC3\xA4"}).root, "/d/$HOME ${x} ~ \"q\" \xC3\xA4");
}

TEST(Request, MistakesNameTheOption) {
  EXPECT_THAT(complaint({.output = ""}), StartsWith("output is \"\""));
  EXPECT_THAT(complaint({.output = "a\nb"}), StartsWith("output is "));
  EXPECT_THAT(complaint({.output = "\xff"}), HasSubstr("not UTF-8"));
  for (const char* steps : {"5-3", "x", "-1", "1,,2", ",", "1.5", "99999999999999999999"})
    EXPECT_THAT(complaint({.output = "d", .steps = steps}), StartsWith("steps is \"")) << steps;
  EXPECT_THAT(complaint({.output = "d", .ops = "(conv"}), StartsWith("ops: \"(conv\" is not a regular"));
  EXPECT_THAT(complaint({.output = "d", .module = "a)(b"}), StartsWith("module: \"a)(b\" is not a regular"));
  for (const char* budget : {"x", "0", "-1G"})
    EXPECT_THAT(complaint({.output = "d", .budget = budget}), StartsWith("budget is \"")) << budget;
}

TEST(Request, AnotherFolderForAConfiguration) {
  auto text = make_config({.output = "/golden", .steps = "3", .ops = "conv"});
  ASSERT_TRUE(text);
  EXPECT_EQ(*replace_output(*text, "/actual"),
            *make_config({.output = "/actual", .steps = "3", .ops = "conv"}));
  EXPECT_FALSE(replace_output(R"({"dump": {"dump_path": "/golden"}})", "/actual"));
}

TEST(Request, WatchingKeepsStatisticsOfTheLastSteps) {
  const auto config = make_config({.output = "/d", .steps = "all", .watch = 7});
  ASSERT_TRUE(config) << config.error().message();
  const auto plan = make_plan("f.json", *config, "", DialectOptions());
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->watch_steps, 7u);
  EXPECT_EQ(plan->content, plan::Content::statistics);
  EXPECT_FALSE(plan->budget_bytes);
  EXPECT_THAT(plan->statistics,
              testing::IsSupersetOf({plan::Statistic::max, plan::Statistic::nan_count,
                                     plan::Statistic::positive_inf_count, plan::Statistic::negative_inf_count,
                                     plan::Statistic::zero_count}));
}

TEST(Request, FingerprintsAreOneFileUnlessTensorsAreWanted) {
  const plan::DumpPlan plan = plan_of({.output = "/d", .steps = "all", .fingerprints = true});
  EXPECT_TRUE(plan.fingerprints);
  EXPECT_EQ(plan.content, plan::Content::statistics);
  EXPECT_EQ(plan.statistics, plan::fingerprint_statistics());
  EXPECT_THAT(plan::describe(plan), HasSubstr("/d/rank_R/fingerprints.bin"));
  EXPECT_FALSE(plan_of({.output = "/d", .tensors = true, .fingerprints = true}).fingerprints);
  EXPECT_FALSE(plan_of({.output = "/d", .statistics = true}).fingerprints);
}

TEST(OpdumpSettings, MistakesHaveAPosition) {
  const auto complain = [](const std::string& settings) {
    const auto plan = make_plan("f.json",
                                R"({"common_dump_settings": {"dump_mode": 0, "path": "/d", "net_name": "n"},)"
                                "\n\"opdump_settings\": " +
                                    settings + "}",
                                "", DialectOptions());
    return plan ? plan->warnings.empty() ? "" : plan->warnings.front() : plan.error().message();
  };
  EXPECT_EQ(complain("{}"), "");
  EXPECT_EQ(complain(R"({"budget": "1G"})"), "");
  EXPECT_THAT(complain("1"), StartsWith("f.json:2:20: opdump_settings should be an object"));
  EXPECT_THAT(complain(R"({"ops": 3})"), StartsWith("f.json:2:28: ops is 3"));
  EXPECT_THAT(complain(R"({"ops": "("})"), HasSubstr("not a regular expression"));
  EXPECT_THAT(complain(R"({"module": ""})"), HasSubstr("empty"));
  EXPECT_THAT(complain(R"({"budget": "much"})"), HasSubstr("\"20G\""));
  EXPECT_THAT(complain(R"({"watch": 1})"), HasSubstr("should be the number of steps to keep"));
  EXPECT_THAT(complain(R"({"watch": "10"})"), HasSubstr("should be the number of steps to keep"));
  EXPECT_THAT(complain(R"({"watch": 10})"), HasSubstr("is for saved_data \"statistic\""));
  EXPECT_EQ(complain(R"({"fingerprints": false})"), "");
  EXPECT_THAT(complain(R"({"fingerprints": 1})"), HasSubstr("should be true or false"));
  EXPECT_THAT(complain(R"({"fingerprints": true})"), HasSubstr("is for saved_data \"statistic\""));
  EXPECT_THAT(complain(R"({"bugdet": "1G"})"), HasSubstr("budget"));
  EXPECT_THAT(complain(R"({"enable": true})"), HasSubstr("e2e_dump_settings"));
}

}  // namespace
}  // namespace opdump::dialect
