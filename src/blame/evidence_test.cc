#include "blame/evidence.h"

#include <gtest/gtest.h>

namespace opdump::blame {
namespace {

std::string reply(const std::string& golden, const std::string& actual) {
  return R"({"ok":true,"sides":{"golden":{"0":)" + golden + R"(},"actual":{"0":)" + actual + "}}}";
}

constexpr const char* kFine =
    R"({"r":0.4,"rho":1.5,"alpha":0.01,"relative":3e-8,"count":64,"independent":64})";
constexpr const char* kWrong =
    R"({"r":2e4,"rho":9e4,"alpha":10,"relative":2e-3,"count":64,"independent":64,"worst":[1,2],"value":0.5,"reference":"nan"})";

Judgement judge_text(const std::string& text, std::string_view type = "addmm") {
  const auto replayed = parse_replayed(text);
  EXPECT_TRUE(replayed);
  static Replayed kept;  // which the judgement points into
  kept = *replayed;
  return judge(kept, type);
}

TEST(Evidence, TheSideThatRoundingDoesNotExplainIsAtFault) {
  EXPECT_EQ(judge_text(reply(kFine, kFine)).fault, Fault::none);
  const Judgement actual = judge_text(reply(kFine, kWrong));
  EXPECT_EQ(actual.fault, Fault::actual);
  EXPECT_TRUE(actual.is_certain);
  EXPECT_EQ(actual.excess.test, "error 20000 times what rounding explains");
  EXPECT_EQ(actual.excess.output->worst, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(judge_text(reply(kWrong, kFine)).fault, Fault::golden);
}

TEST(Evidence, EqualErrorsOfBothAreNoCulprit) {
  EXPECT_EQ(judge_text(reply(kWrong, kWrong)).fault, Fault::common);
  EXPECT_FALSE(judge_text(reply(kWrong, kWrong)).is_certain);
  const std::string worse = R"({"r":9e6,"rho":9e6,"alpha":10,"relative":0.5,"count":64,"independent":64})";
  EXPECT_EQ(judge_text(reply(kWrong, worse)).fault, Fault::actual);
}

TEST(Evidence, AnEqualBiasOfBothIsTheOrderInWhichTheySum) {
  const std::string biased = R"({"r":2,"rho":3,"alpha":10,"relative":1e-6,"count":64,"independent":64})";
  EXPECT_EQ(judge_text(reply(biased, biased)).fault, Fault::none);
  EXPECT_EQ(judge_text(reply(kFine, biased)).fault, Fault::actual);
  EXPECT_EQ(judge_text(reply(kWrong, biased)).fault, Fault::golden);
}

TEST(Evidence, ExactResultsAdmitNoWrongElement) {
  const std::string right = R"({"wrong":0,"count":8})", wrong = R"({"wrong":1,"count":8,"worst":[7]})";
  EXPECT_EQ(judge_text(reply(right, right), "clone").fault, Fault::none);
  const Judgement judgement = judge_text(reply(right, wrong), "clone");
  EXPECT_EQ(judgement.fault, Fault::actual);
  EXPECT_TRUE(judgement.is_certain);
  EXPECT_EQ(judgement.excess.test, "1 of 8 elements is wrong");
}

TEST(Evidence, ABiasNeedsManyDifferentValues) {
  const std::string few = R"({"r":1,"rho":1,"alpha":0.9,"relative":1e-3,"count":64,"independent":2})";
  const std::string many = R"({"r":1,"rho":1,"alpha":0.9,"relative":1e-3,"count":900,"independent":900})";
  EXPECT_EQ(judge_text(reply(kFine, few), "mul").fault, Fault::none);
  EXPECT_EQ(judge_text(reply(kFine, many), "mul").fault, Fault::actual);
  EXPECT_EQ(judge_text(reply(kFine, many), "addmm").fault, Fault::none);  // which rounds more than once
}

TEST(Evidence, WhatCannotBeRunSaysWhy) {
  const auto replayed = parse_replayed(R"({"ok":false,"random":true,"reason":"aten::rand is random"})");
  ASSERT_TRUE(replayed);
  EXPECT_FALSE(replayed->is_done);
  EXPECT_TRUE(replayed->is_random);
  EXPECT_EQ(replayed->reason, "aten::rand is random");
}

TEST(Evidence, RepliesOfAnotherFormAreErrors) {
  for (const char* text : {"", "[]", "{}", R"({"ok":1})", R"({"ok":true})",
                           R"({"ok":true,"sides":{"golden":{"0":{"wrong":"x"}}}})"})
    EXPECT_FALSE(parse_replayed(text)) << text;
}

}  // namespace
}  // namespace opdump::blame
