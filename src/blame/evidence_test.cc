#include "blame/evidence.h"

#include <gtest/gtest.h>

namespace opdump::blame {
namespace {

std::string reply(const std::string& golden, const std::string& actual) {
  return R"({"ok":true,"sides":{"golden":{"0":)" + golden + R"(},"actual":{"0":)" + actual + "}}}";
}

constexpr const char* kFine = R"({"r":0.4,"rho":1.5,"alpha":0.01,"relative":3e-8,"count":64,"chance":0.02})";
constexpr const char* kWrong =
    R"({"r":2e4,"rho":9e4,"alpha":10,"relative":2e-3,"count":64,"chance":0.02,"worst":[1,2],"value":0.5,"reference":"nan"})";

Judgement judge_text(const std::string& text) {
  const auto replayed = parse_replayed(text);
  EXPECT_TRUE(replayed);
  static Replayed kept;  // which the judgement points into
  kept = *replayed;
  return judge(kept);
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

TEST(Evidence, WhatBothMakeAgainIsRight) {
  const auto replayed = parse_replayed(R"({"ok":true,"sides":{},"sum":true})");
  ASSERT_TRUE(replayed);
  EXPECT_TRUE(replayed->is_done && replayed->is_sum);
  EXPECT_EQ(judge(*replayed).fault, Fault::none);
}

TEST(Evidence, AnElementThatOnlyOneRunHasOtherwiseIsSuspect) {
  const std::string odd = R"({"r":0.4,"rho":1.5,"alpha":0.01,"relative":3e-8,"count":640,"odd":1})";
  const Judgement judgement = judge_text(reply(kFine, odd));
  EXPECT_EQ(judgement.fault, Fault::actual);
  EXPECT_FALSE(judgement.is_certain);
  EXPECT_EQ(judgement.excess.test,
            "1 of 640 elements is not what the same kernel makes, and all others are, to the last bit");
  EXPECT_EQ(judge_text(reply(odd, kFine)).fault, Fault::golden);
}

TEST(Evidence, EqualErrorsOfBothAreNoCulprit) {
  EXPECT_EQ(judge_text(reply(kWrong, kWrong)).fault, Fault::common);
  EXPECT_FALSE(judge_text(reply(kWrong, kWrong)).is_certain);
  const std::string worse = R"({"r":9e6,"rho":9e6,"alpha":10,"relative":0.5,"count":64,"chance":0.02})";
  EXPECT_EQ(judge_text(reply(kWrong, worse)).fault, Fault::actual);
}

TEST(Evidence, AnEqualBiasOfBothIsTheOrderInWhichTheySum) {
  const std::string biased = R"({"r":2,"rho":3,"alpha":10,"relative":1e-6,"count":64,"chance":0.02})";
  EXPECT_EQ(judge_text(reply(biased, biased)).fault, Fault::none);
  EXPECT_EQ(judge_text(reply(kFine, biased)).fault, Fault::actual);
  EXPECT_EQ(judge_text(reply(kWrong, biased)).fault, Fault::golden);
}

TEST(Evidence, ExactResultsAdmitNoWrongElement) {
  const std::string right = R"({"wrong":0,"count":8})", wrong = R"({"wrong":1,"count":8,"worst":[7]})";
  EXPECT_EQ(judge_text(reply(right, right)).fault, Fault::none);
  const Judgement judgement = judge_text(reply(right, wrong));
  EXPECT_EQ(judgement.fault, Fault::actual);
  EXPECT_TRUE(judgement.is_certain);
  EXPECT_EQ(judgement.excess.test, "1 of 8 elements is wrong");
}

// An output with these numbers.
std::string output(const std::string& numbers) { return R"({"relative":1e-3,"count":900,)" + numbers + "}"; }

TEST(Evidence, ABiasNeedsManyDifferentValues) {
  const std::string sharp = R"(,"limits":[3,6,0.35],"certain":[12,24,1.4])";
  const std::string few = output(R"("r":1,"rho":1,"alpha":0.9,"chance":1)" + sharp);
  const std::string many = output(R"("r":1,"rho":1,"alpha":0.9,"chance":0.01)" + sharp);
  const std::string usual = output(R"("r":1,"rho":1,"alpha":0.9,"chance":0.01)");
  EXPECT_EQ(judge_text(reply(kFine, few)).fault, Fault::none);
  EXPECT_EQ(judge_text(reply(kFine, many)).fault, Fault::actual);
  EXPECT_FALSE(judge_text(reply(kFine, many)).is_certain);
  EXPECT_EQ(judge_text(reply(kFine, usual)).fault, Fault::none);
}

TEST(Evidence, LimitsThatAreNoneAreTheUsualOnes) {
  const std::string error = R"("r":1,"rho":1,"alpha":0.9,"chance":0.01)";
  for (const char* limits : {"[]", "[0,0,0]", "[1,2]", "[-1,-1,-1]"})
    EXPECT_EQ(judge_text(reply(kFine, output(error + ",\"limits\":" + limits))).fault, Fault::none) << limits;
}

TEST(Evidence, ASumIsCertainlyWrongBeyondTheBoundOfAllOrders) {
  const std::string error = R"("r":90,"rho":900,"alpha":0,"chance":0.01)";
  const Judgement within = judge_text(reply(kFine, output(error + R"(,"beyond":0.9)")));
  EXPECT_EQ(within.fault, Fault::actual);
  EXPECT_FALSE(within.is_certain);
  EXPECT_TRUE(judge_text(reply(kFine, output(error + R"(,"beyond":1.1)"))).is_certain);
  EXPECT_TRUE(judge_text(reply(kFine, output(error))).is_certain);
}

TEST(Evidence, ASideOfLessPrecisionHasAReason) {
  const std::string less = output(R"("r":9e3,"rho":9e3,"alpha":3,"chance":0.01,"inputs":"TF32")");
  const Judgement judgement = judge_text(reply(less, kWrong));
  EXPECT_EQ(judgement.fault, Fault::actual);
  EXPECT_EQ(judgement.excess.test, "error 20000 times what rounding explains");
  EXPECT_EQ(judge_text(reply(less, kFine)).fault, Fault::golden);
}

TEST(Evidence, ReadsSharesAndWhatArgumentsChange) {
  const auto shares = parse_replayed(R"({"ok":true,"shares":{"0":0.75,"2":0.25}})");
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->shares, (std::vector<std::pair<std::uint32_t, double>>{{0, 0.75}, {2, 0.25}}));
  const auto argued =
      parse_replayed(R"({"ok":true,"argument":{"0":)" + std::string(kWrong) + R"(},"sides":{}})");
  ASSERT_TRUE(argued);
  EXPECT_GT(find_excess(argued->argument).factor, 1);
  EXPECT_TRUE(parse_replayed(R"({"ok":true,"argument":null,"sides":{}})")->argument.empty());
}

TEST(Evidence, ReadsWhatIsLeftWithoutAFault) {
  const auto replayed =
      parse_replayed(R"({"ok":true,"ends":{"1":[4,"inf"]},"made":{"1":[6,0.5,3,-1,"inf"]}})");
  ASSERT_TRUE(replayed);
  ASSERT_EQ(replayed->made.size(), 1u);
  EXPECT_EQ(replayed->made[0].first, 1u);
  EXPECT_EQ(replayed->made[0].second.exact.count, 6u);
  EXPECT_EQ(replayed->made[0].second.norm, 3);
  EXPECT_GT(replayed->made[0].second.greatest, 1e300);
  ASSERT_EQ(replayed->ends.size(), 1u);
  EXPECT_EQ(replayed->ends[0].index, 1u);
  EXPECT_EQ(replayed->ends[0].before, 4);
  EXPECT_GT(replayed->ends[0].after, 1e300);
  EXPECT_FALSE(parse_replayed(R"({"ok":true,"ends":{"1":[4]},"made":{}})"));
  EXPECT_FALSE(parse_replayed(R"({"ok":true,"ends":{"1":4},"made":{}})"));
  EXPECT_FALSE(parse_replayed(R"({"ok":true,"ends":{},"made":{"1":[4]}})"));
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

TEST(RunAgain, AnOperatorThatEndsTheWorkerCannotBeRunAgain) {
  const auto ended_by = [](const std::string& how) {
    return run_again([&](std::string) { return Error(Code::internal, how); }, "{}");
  };
  const auto ended = ended_by("python3 ended before it answered: killed by signal 11 (SIGSEGV)");
  ASSERT_TRUE(ended);
  EXPECT_FALSE(ended->is_done || ended->is_random);
  EXPECT_TRUE(ended->has_ended);
  EXPECT_EQ(ended->reason, "python3 ended before it answered: killed by signal 11 (SIGSEGV)");
  EXPECT_EQ(ended_by("killed by signal 9 (SIGKILL)")->reason, "killed by signal 9 (SIGKILL): out of memory?");

  const auto impossible = run_again([](std::string) { return Error(Code::unsupported, "no torch"); }, "{}");
  ASSERT_TRUE(impossible);
  EXPECT_EQ(impossible->reason, "no torch");
  const auto refused = run_again([](std::string) { return Error(Code::usage, "no torch"); }, "{}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::usage);

  const auto done = run_again([](std::string request) { return request; }, R"({"ok":true,"sides":{}})");
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->is_done);
}

}  // namespace
}  // namespace opdump::blame
