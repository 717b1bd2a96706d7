#include "cli/diff/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opdump::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(ParseCommandLine, SplitsAsAShellDoes) {
  const auto command = parse_command_line(R"(python3  train.py --name 'a b' "c \"d\"" e\ f --x=1)");
  ASSERT_TRUE(command);
  EXPECT_THAT(command->words, ElementsAre("python3", "train.py", "--name", "a b", "c \"d\"", "e f", "--x=1"));
  EXPECT_TRUE(command->environment.empty());
}

TEST(ParseCommandLine, VariablesInFrontAreTheEnvironment) {
  const auto command = parse_command_line("OMP_NUM_THREADS=1 EMPTY= python3 LR=2 train.py");
  ASSERT_TRUE(command);
  EXPECT_THAT(command->environment, ElementsAre(Pair("OMP_NUM_THREADS", "1"), Pair("EMPTY", "")));
  EXPECT_THAT(command->words, ElementsAre("python3", "LR=2", "train.py"));
}

TEST(ParseCommandLine, WhatNeedsAShellGetsOne) {
  for (const char* text : {"python3 train.py | tee log", "python3 $SCRIPT", "cd x && python3 train.py",
                           R"(python3 "$HOME/train.py")"}) {
    const auto command = parse_command_line(text);
    ASSERT_TRUE(command);
    EXPECT_THAT(command->words, ElementsAre("/bin/sh", "-c", text));
  }
  const auto quoted = parse_command_line("python3 -c 'print(1 * 2)'");
  ASSERT_TRUE(quoted);
  EXPECT_THAT(quoted->words, ElementsAre("python3", "-c", "print(1 * 2)"));
}

TEST(ParseCommandLine, RejectsWhatIsNoCommand) {
  for (const char* text : {"", "  ", "VAR=1"}) {
    const auto command = parse_command_line(text);
    ASSERT_FALSE(command);
    EXPECT_THAT(command.error().message(), HasSubstr("no program"));
  }
  EXPECT_THAT(parse_command_line("python3 'train.py").error().message(), HasSubstr("without an end"));
}

TEST(MakeCommandLine, CanBeReadBack) {
  const std::vector<std::string> words{"LR=a b", "python3", "it's", ""};
  const auto command = make_command_line(words);
  ASSERT_TRUE(command);
  const auto again = parse_command_line(command->text);
  ASSERT_TRUE(again);
  EXPECT_EQ(command->words, again->words);
  EXPECT_EQ(quote_word("a b"), "'a b'");
  EXPECT_EQ(quote_word("--lr=0.1"), "--lr=0.1");
}

}  // namespace
}  // namespace opdump::cli
