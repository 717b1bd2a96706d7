#include "compare/measure/statistics.h"

#include <gtest/gtest.h>

#include <limits>

#include "compare/comparison.h"

namespace opdump::compare {
namespace {

using model::DType;

StatisticsVerdict judge(const Columns& golden, const Columns& actual, DType dtype = DType::float32) {
  return compare_statistics(golden, actual, dtype, default_tolerance(dtype));
}

TEST(Statistics, SixthDigitIsNoDifference) {
  EXPECT_TRUE(judge({{"Max Value", "9.53939"}}, {{"Max Value", "9.5394"}}).match);
  const auto verdict = judge({{"Max Value", "9.53939"}}, {{"Max Value", "9.54"}});
  EXPECT_TRUE(verdict.comparable);
  EXPECT_FALSE(verdict.match);
  EXPECT_EQ(verdict.reason, "Max Value 9.53939 against 9.54");
}

TEST(Statistics, OnlyCommonColumnsCountAndNoneIsNoAnswer) {
  EXPECT_TRUE(
      judge({{"Max Value", "1"}, {"Min Value", "0"}}, {{"L2Norm Value", "7"}, {"Max Value", "1"}}).match);
  const auto verdict = judge({{"Max Value", "1"}}, {{"Min Value", "1"}});
  EXPECT_FALSE(verdict.comparable);
  EXPECT_FALSE(verdict.match);
}

TEST(Statistics, NanAndInf) {
  EXPECT_TRUE(judge({{"Max Value", "-nan"}}, {{"Max Value", "nan"}}).match);
  EXPECT_FALSE(judge({{"Max Value", "1"}}, {{"Max Value", "nan"}}).match);
  EXPECT_TRUE(judge({{"Max Value", "inf"}}, {{"Max Value", "inf"}}).match);
  EXPECT_FALSE(judge({{"Max Value", "inf"}}, {{"Max Value", "-inf"}}).match);
  EXPECT_FALSE(
      judge({{"Max Value", "1"}, {"NaN Count", "0"}}, {{"Max Value", "1"}, {"NaN Count", "1"}}).match);
}

TEST(Statistics, SumsThatCancelAreMeasuredAgainstTheTensor) {
  const Columns golden{{"Max Value", "3"},
                       {"Min Value", "-3"},
                       {"Avg Value", "1e-05"},
                       {"L2Norm Value", "1000"},
                       {"Count", "1000000"}};
  Columns actual = golden;
  actual[2].second = "-5e-06";  // sums of a million numbers of size 1: rounding
  EXPECT_TRUE(judge(golden, actual).match);
  actual[2].second = "0.001";
  EXPECT_FALSE(judge(golden, actual).match);
}

TEST(Statistics, Hashes) {
  EXPECT_TRUE(judge({{"MD5", "aa"}}, {{"MD5", "aa"}}).match);
  EXPECT_FALSE(judge({{"MD5", "aa"}}, {{"MD5", "bb"}}).match);
  // Equal hashes decide at once; different ones only where nothing else does.
  EXPECT_TRUE(judge({{"MD5", "aa"}, {"Max Value", "1"}}, {{"MD5", "aa"}, {"Max Value", "2"}}).match);
  const auto close = judge({{"MD5", "aa"}, {"Max Value", "1"}}, {{"MD5", "bb"}, {"Max Value", "1"}});
  EXPECT_TRUE(close.match);
  EXPECT_EQ(close.reason, "statistics agree, bits do not");
  EXPECT_FALSE(
      judge({{"MD5", "aa"}, {"Max Value", "1"}}, {{"MD5", "bb"}, {"Max Value", "1"}}, DType::int32).match);
}

TEST(Statistics, SignCountsDecideForIntegersOrAlone) {
  const Columns golden{{"Max Value", "1"}, {"Zero Count", "3"}},
      actual{{"Max Value", "1"}, {"Zero Count", "4"}};
  EXPECT_TRUE(judge(golden, actual).match);
  EXPECT_FALSE(judge(golden, actual, DType::int32).match);
  EXPECT_FALSE(judge({golden[1]}, {actual[1]}).match);
}

TEST(Statistics, IntegersAreExact) {
  EXPECT_FALSE(judge({{"Max Value", "100000"}}, {{"Max Value", "100001"}}, DType::int32).match);
  EXPECT_TRUE(judge({{"Max Value", "100000"}}, {{"Max Value", "100001"}}, DType::float32).match);
  EXPECT_TRUE(judge({{"Max Value", "True"}}, {{"Max Value", "1"}}, DType::boolean).match);
}

// These statistics come from logs of DebugMode.
TEST(Statistics, HashesOfTorch) {
  EXPECT_TRUE(judge({{"L1Norm Value", "1000.0"}}, {{"L1Norm Value", "1000.001"}}).match);
  EXPECT_FALSE(judge({{"L1Norm Value", "1000.0"}}, {{"L1Norm Value", "1000.1"}}).match);
  EXPECT_FALSE(judge({{"L1Norm Value", "1000.0"}}, {{"L1Norm Value", "1000.001"}}, DType::int64).match);
  EXPECT_TRUE(judge({{"L1Norm Value", "3.0"}}, {{"L1Norm Value", "3"}}, DType::int64).match);
  // Equal ones of other tensors are usual, and one bit is a difference.
  EXPECT_FALSE(
      judge({{"L1Norm Value", "4"}, {"hash_tensor", "0"}}, {{"L1Norm Value", "8"}, {"hash_tensor", "0"}})
          .match);
  EXPECT_TRUE(
      judge({{"L1Norm Value", "4"}, {"hash_tensor", "0"}}, {{"L1Norm Value", "4"}, {"hash_tensor", "1"}})
          .match);
  EXPECT_FALSE(
      judge({{"hash_tensor", "18446744073709551615"}}, {{"hash_tensor", "18446744073709551614"}}).match);
  const float data[] = {-1, 1, 2};
  const auto view = model::TensorView::row_major(DType::float32, {3}, data);
  const Columns wanted{{"hash_tensor", ""}, {"Count", ""}, {"L1Norm Value", ""}};
  EXPECT_EQ(*compute_columns(view, DType::float32, wanted),
            (Columns{{"Count", "3"}, {"hash_tensor", "13835058055282163712"}, {"L1Norm Value", "4"}}));
  // The only ones of complex numbers.
  const auto complex = model::TensorView::row_major(DType::complex64, {1}, data);
  EXPECT_EQ((*compute_columns(complex, DType::complex64, {{"L1Norm Value", ""}}))[0].second,
            "1.4142135623730951");
  EXPECT_FALSE(compute_columns(complex, DType::complex64, wanted));
  const std::vector<Columns> parts{{{"L1Norm Value", "3"}, {"hash_tensor", "1"}}, {{"L1Norm Value", "4.5"}}};
  const std::vector<std::uint64_t> counts{2, 1};
  EXPECT_EQ(merge_columns(parts, counts, 1, 1), (Columns{{"L1Norm Value", "7.5"}}));
}

TEST(Statistics, ComputedColumnsPrintAsTheDumpDoes) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  const auto view = model::TensorView::row_major(DType::float32, {2, 3}, data);
  const auto columns =
      compute_columns(view, DType::float32,
                      {{"L2Norm Value", ""}, {"MD5", ""}, {"Count", ""}, {"Avg Value", ""}, {"Else", ""}});
  ASSERT_TRUE(columns);
  const Columns expected{{"L2Norm Value", "9.53939"},
                         {"MD5", "fa85978152c7dfb5f1322082915cb050"},
                         {"Count", "6"},
                         {"Avg Value", "3.5"}};
  EXPECT_EQ(*columns, expected);
  // A bfloat16 tensor was widened when it was dumped: its hash cannot be computed from the file.
  EXPECT_TRUE(compute_columns(view, DType::bfloat16, {{"MD5", ""}})->empty());
}

TEST(Statistics, PartsAddUp) {
  const std::vector<Columns> parts{{{"Max Value", "3"},
                                    {"Min Value", "-1"},
                                    {"Avg Value", "1"},
                                    {"L2Norm Value", "3"},
                                    {"NaN Count", "0"},
                                    {"MD5", "a"}},
                                   {{"Max Value", "5"},
                                    {"Min Value", "2"},
                                    {"Avg Value", "4"},
                                    {"L2Norm Value", "4"},
                                    {"NaN Count", "2"},
                                    {"MD5", "b"}}};
  const std::vector<std::uint64_t> counts{2, 1};
  EXPECT_EQ(merge_columns(parts, counts, 1, 1), (Columns{{"Max Value", "5"},
                                                         {"Min Value", "-1"},
                                                         {"Avg Value", "2"},
                                                         {"L2Norm Value", "5"},
                                                         {"NaN Count", "2"}}));
  const std::vector<Columns> twice{parts[0], parts[1], parts[0], parts[1]};
  const std::vector<std::uint64_t> counts_twice{2, 1, 2, 1};
  EXPECT_EQ(merge_columns(twice, counts_twice, 2, 1), merge_columns(parts, counts, 1, 1));
  EXPECT_EQ(merge_columns(parts, counts, 1, 2)[2].second, "1");
  // A rank without elements has no numbers; another without them makes the column unknown.
  const std::vector<Columns> empty{parts[0], {{"Max Value", ""}}};
  const std::vector<std::uint64_t> none{2, 0}, some{2, 1};
  EXPECT_EQ(merge_columns(empty, none, 1, 1)[0].second, "3");
  EXPECT_TRUE(merge_columns(empty, some, 1, 1).empty());
  EXPECT_TRUE(merge_columns({}, {}, 1, 1).empty());
}

}  // namespace
}  // namespace opdump::compare
