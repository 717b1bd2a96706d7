#include "msaccucmp/verbs/argparse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace opdump::msaccucmp {
namespace {

using testing::ElementsAre;
using Kind = ArgumentSpec::Kind;

constexpr int kVersions[] = {1, 2};
constexpr std::string_view kTypes[] = {"npy", "bin"};
constexpr ArgumentSpec kSpecs[] = {
    {"-m", "--my_dump_path", Kind::path, true, {}},
    {"-out", "--output", Kind::path, false, {}},
    {"-o", "--output_tensor", Kind::text, false, {}, 1},
    {"-i", "--input_tensor", Kind::text, false, {}, 1},
    {"-v", "--version", Kind::integer, false, kVersions},
    {"-n", "--number", Kind::integer, false, {}},
    {"-t", "--type", Kind::text, false, {}, 0, false, kTypes},
    {"-a", "", Kind::text, false, {}, 0, true},
    {"-x", "--flag", Kind::flag, false, {}},
    {"--ours", "", Kind::flag, false, {}, 0, false, {}, true},
};

Result<ParsedArguments> parse(std::vector<const char*> words) { return parse_arguments(kSpecs, words); }

std::string error_of(std::vector<const char*> words) {
  const auto parsed = parse(std::move(words));
  return parsed ? "" : parsed.error().message();
}

TEST(Argparse, TakesValuesInAllSpellings) {
  for (const std::vector<const char*>& words : {std::vector<const char*>{"-m", "/a"},
                                                {"-m/a"},
                                                {"--my_dump_path", "/a"},
                                                {"--my_dump_path=/a"},
                                                {"--my", "/a"},
                                                {"--my=/a"}}) {
    const auto parsed = parse(words);
    ASSERT_TRUE(parsed) << words.front();
    EXPECT_EQ(parsed->value("-m"), "/a") << words.front();
    EXPECT_TRUE(parsed->unrecognized.empty());
  }
}

TEST(Argparse, TheLastValueCounts) {
  const auto parsed = parse({"-m", "a", "-m", "b"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->value("-m"), "b");
  EXPECT_EQ(parsed->value("-out", "otherwise"), "otherwise");
  EXPECT_FALSE(parsed->has("-out"));
}

TEST(Argparse, AWordOfSeveralLettersIsOneOptionBeforeItIsAnotherWithAValue) {
  const auto parsed = parse({"-m", "a", "-out", "b"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->value("-out"), "b");
  EXPECT_FALSE(parsed->has("-o"));
}

TEST(Argparse, RefusesWhatIsAmbiguous) {
  EXPECT_EQ(error_of({"-m", "a", "--out", "b"}),
            "ambiguous option: --out could match --output, --output_tensor");
}

TEST(Argparse, OptionsOfOursAreNotShortened) {
  const auto whole = parse({"-m", "a", "--ours"});
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->has("--ours"));
  const auto part = parse({"-m", "a", "--our"});
  ASSERT_TRUE(part);
  EXPECT_THAT(part->unrecognized, ElementsAre("--our"));
}

TEST(Argparse, NegativeNumbersAreValues) {
  const auto parsed = parse({"-m", "a", "-n", "-5"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->number("-n"), -5);
}

TEST(Argparse, NumbersAreThoseOfPython) {
  EXPECT_EQ(parse({"-m", "a", "-n", " 1_000 "})->number("-n"), 1000);
  EXPECT_EQ(parse({"-m", "a", "-n", "99999999999999999999"})->number("-n"), INT64_MAX);
  EXPECT_EQ(parse({"-m", "a", "-n", "-99999999999999999999"})->number("-n"), INT64_MIN);
  EXPECT_EQ(parse({"-m", "a"})->number("-n"), std::nullopt);
  EXPECT_EQ(error_of({"-m", "a", "-n", "1.5"}), "argument -n/--number: invalid int value: '1.5'");
}

TEST(Argparse, ChecksChoices) {
  EXPECT_EQ(error_of({"-m", "a", "-v", "3"}), "argument -v/--version: invalid choice: 3 (choose from 1, 2)");
  EXPECT_EQ(error_of({"-m", "a", "-t", "pt"}),
            "argument -t/--type: invalid choice: 'pt' (choose from 'npy', 'bin')");
  EXPECT_EQ(parse({"-m", "a", "-v", "02"})->number("-v"), 2);
}

TEST(Argparse, ChecksPaths) {
  EXPECT_EQ(error_of({"-m", "a;b"}), "argument -m/--my_dump_path: invalid safe_path_string value: 'a;b'");
}

TEST(Argparse, NamesWhatIsMissing) {
  EXPECT_EQ(error_of({"-x"}), "the following arguments are required: -m/--my_dump_path");
  EXPECT_EQ(error_of({"-m"}), "argument -m/--my_dump_path: expected one argument");
  EXPECT_EQ(error_of({"-m", "a", "-a"}), "argument -a: expected at least one argument");
}

TEST(Argparse, SomeOptionsExcludeEachOther) {
  EXPECT_EQ(error_of({"-m", "a", "-o", "0", "-i", "0"}),
            "argument -i/--input_tensor: not allowed with argument -o/--output_tensor");
}

TEST(Argparse, TakesSeveralValues) {
  const auto parsed = parse({"-a", "1", "2", "3", "-m", "a"});
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->values.at("-a"), ElementsAre("1", "2", "3"));
}

TEST(Argparse, FlagsShareAWord) {
  const auto parsed = parse({"-xma"});
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->has("-x"));
  EXPECT_EQ(parsed->value("-m"), "a");
  EXPECT_EQ(error_of({"-m", "a", "--flag=1"}), "argument -x/--flag: ignored explicit argument '1'");
}

TEST(Argparse, CollectsWordsThatNobodyKnows) {
  const auto parsed = parse({"-m", "a", "b", "--unknown"});
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->unrecognized, ElementsAre("b", "--unknown"));
}

TEST(Argparse, HelpComesBeforeMistakesBehindIt) {
  const auto parsed = parse({"-h", "-v", "9"});
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->wants_help);
  EXPECT_NE(error_of({"-v", "9", "-h"}), "");
}

TEST(Argparse, CountsTheOptionsBeforeAVerb) {
  EXPECT_EQ(count_leading_options(std::vector<const char*>{"-a", "--b", "verb", "-c"}), 2U);
  EXPECT_EQ(count_leading_options(std::vector<const char*>{"verb"}), 0U);
  EXPECT_EQ(count_leading_options(std::vector<const char*>{"-a"}), 1U);
}

}  // namespace
}  // namespace opdump::msaccucmp
