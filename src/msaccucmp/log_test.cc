#include "msaccucmp/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/result.h"

namespace opdump::msaccucmp {
namespace {

using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

TEST(Log, KeepsItsLinesInOrder) {
  Log log;
  EXPECT_TRUE(log.empty());
  log.info("one");
  log.warn("two");
  log.error("three");
  ASSERT_EQ(log.lines().size(), 3U);
  EXPECT_EQ(log.lines()[0].severity, Severity::info);
  EXPECT_EQ(log.lines()[1].severity, Severity::warning);
  EXPECT_EQ(log.lines()[2].severity, Severity::error);
  EXPECT_EQ(log.lines()[2].text, "three");
  log.clear();
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(log.take_text(), "");
}

TEST(Log, WritesLinesAsTheOriginal) {
  Log log;
  log.info("text");
  log.warn("a\nb\tc\x7f");
  const std::string text = log.take_text();
  EXPECT_TRUE(log.empty());
  EXPECT_THAT(text, testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} "
                                          "\\([0-9]+\\) - \\[INFO\\] text\n[^\n]*\\[WARNING\\] a_b_c_\n"));
}

TEST(Log, ReplacesControlsWhereverTheyLie) {
  for (std::size_t length = 1; length < 20; ++length)
    for (std::size_t at = 0; at < length; ++at) {
      Log log;
      std::string text(length, 'x'), wanted = text;
      text[at] = '\x1f';
      wanted[at] = '_';
      log.info(text);
      EXPECT_THAT(log.take_text(), testing::EndsWith("] " + wanted + "\n"));
    }
}

TEST(Log, KeepsTheBytesOfOtherScripts) {
  Log log;
  log.info("\u00e9\u221e \x80\xff");
  EXPECT_THAT(log.take_text(), testing::EndsWith("] \u00e9\u221e \x80\xff\n"));
}

TEST(Log, PrintsAtOnceOrWhenAsked) {
  CaptureStderr();
  Log written(LogMode::written), kept;
  kept.info("second");
  written.info("first");
  kept.print();
  kept.print();
  const std::string text = GetCapturedStderr();
  EXPECT_THAT(text, testing::ContainsRegex("INFO\\] first\n.*INFO\\] second\n$"));
  EXPECT_EQ(text.find("second"), text.rfind("second"));
  EXPECT_TRUE(written.empty());
  EXPECT_TRUE(kept.empty());
}

TEST(Failure, IsLoggedAndStandsForItsStatus) {
  Log log;
  const Failure failure = log.fail(Status::invalid_shape, "why");
  EXPECT_EQ(failure.message, "why");
  const Status status = failure;
  EXPECT_EQ(status, Status::invalid_shape);
  EXPECT_EQ(log.lines().back().severity, Severity::error);
  EXPECT_EQ(Status(log.crash("x")), kCrash);
  EXPECT_EQ(log.lines().back().text, "Basic error running msaccucmp.py: x");
}

TEST(Outcome, IsAValueOrAFailure) {
  const auto half = [](int number) -> Outcome<int> {
    if (number % 2 != 0) return Failure{Status::out_of_bounds, "odd"};
    return number / 2;
  };
  const auto quarter = [&](int number) -> Outcome<int> {
    OPDUMP_TRY(const int twice, half(number));
    return half(twice);
  };
  ASSERT_TRUE(quarter(8));
  EXPECT_EQ(*quarter(8), 2);
  ASSERT_FALSE(quarter(6));
  EXPECT_EQ(quarter(6).error().message, "odd");
}

}  // namespace
}  // namespace opdump::msaccucmp
