#include "compare/pairs/rows/match_rows.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace opdump::compare {
namespace {

using model::DType;
using model::TensorView;
using Rows = std::vector<std::pair<std::int64_t, std::int64_t>>;

TensorView tokens(const std::vector<std::int64_t>& numbers, std::int64_t rows) {
  return TensorView::row_major(DType::int64, {rows, static_cast<std::int64_t>(numbers.size()) / rows},
                               numbers.data());
}

TEST(MatchRowsTest, EqualRows) {
  const std::vector<std::int64_t> golden{1, 2, 3, 4, 1, 2, 2, 1}, actual{2, 1, 1, 2, 7, 7};
  const auto found = match_rows(tokens(golden, 4), tokens(actual, 3));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_exact);
  EXPECT_EQ(found->rows, (Rows{{0, 1}, {3, 0}}));
}

TEST(MatchRowsTest, NearlyEqualRows) {
  const std::vector<float> golden{1, 2, 3, -4}, actual{3.00001F, -4, 1, 2.00001F};
  const auto found = match_rows(TensorView::row_major(DType::float32, {2, 2}, golden.data()),
                                TensorView::row_major(DType::float32, {2, 2}, actual.data()));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->is_exact);
  EXPECT_EQ(found->rows, (Rows{{0, 1}, {1, 0}}));
  const std::vector<float> others{7, 8};
  EXPECT_FALSE(match_rows(TensorView::row_major(DType::float32, {2, 2}, golden.data()),
                          TensorView::row_major(DType::float32, {1, 2}, others.data())));
}

TEST(MatchRowsTest, PaddedRows) {
  const std::vector<std::int64_t> left{0, 0, 5, 6, 7, 0, 8, 9, 5, 4}, plain{5, 6, 7};
  auto found = match_cells(tokens(left, 2), tokens(plain, 1));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].golden, 0);
  EXPECT_EQ(found[0].positions, (AxisStretch{2, 0, 3}));
  // Other padding of the same rows: what both pad is no part of them.
  const std::vector<std::int64_t> right{8, 9, 5, 4, 0, 0, 0, 5, 6, 7, 0, 0, 0, 0};
  found = match_cells(tokens(left, 2), tokens(right, 2));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].actual, 1);
  EXPECT_EQ(found[0].positions, (AxisStretch{2, 0, 3}));
  EXPECT_EQ(found[1].positions, (AxisStretch{1, 0, 4}));
  const std::vector<std::int64_t> both{0, 5, 6, 7};
  found = match_cells(tokens(left, 2), tokens(both, 1));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].positions, (AxisStretch{2, 1, 3}));
}

TEST(MatchRowsTest, RowsOneBehindTheOther) {
  const std::vector<std::int64_t> padded{5, 6, 0, 0, 7, 8, 9, 0, 4, 0, 0, 0},
      left{0, 0, 5, 6, 0, 7, 8, 9, 0, 0, 0, 4}, packed{5, 6, 7, 8, 9, 4}, other{5, 6, 8, 7, 9, 4},
      shorter{5, 6, 7, 8, 9};
  auto found = match_packed(tokens(padded, 3), tokens(packed, 1));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[1].golden, 1);
  EXPECT_EQ(found[1].actual, 0);
  EXPECT_EQ(found[1].positions, (AxisStretch{0, 2, 3}));
  found = match_packed(tokens(packed, 1), tokens(left, 3));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[2].actual, 2);
  EXPECT_EQ(found[2].positions, (AxisStretch{5, 3, 1}));
  EXPECT_TRUE(match_packed(tokens(padded, 3), tokens(other, 1)).empty());
  EXPECT_TRUE(match_packed(tokens(padded, 3), tokens(shorter, 1)).empty());
  EXPECT_TRUE(match_packed(tokens(packed, 1), tokens(packed, 1)).empty());
}

TEST(MatchRowsTest, PositionsThatAreCounted) {
  EXPECT_TRUE(counts_positions(tokens({0, 1, 2, 3, 0, 0, 1, 2}, 2)));
  EXPECT_TRUE(counts_positions(tokens({1, 1, 1, 1}, 1)));
  EXPECT_FALSE(counts_positions(tokens({0, 1, 2, 3, 7, 2, 9, 4}, 2)));
  EXPECT_FALSE(counts_positions(tokens({3, 2, 1, 0}, 1)));
}

TEST(MatchRowsTest, AFewEqualPositionsAreNoRow) {
  const std::vector<std::int64_t> golden{5, 6, 7, 8}, actual{7, 1, 2}, padded{0, 0, 5, 6, 7}, other{5, 6, 9};
  EXPECT_TRUE(match_cells(tokens(golden, 1), tokens(actual, 1)).empty());
  EXPECT_TRUE(match_cells(tokens(padded, 1), tokens(other, 1)).empty());
}

TEST(MatchRowsTest, RowsThatAreAlikeTellNothing) {
  const std::vector<std::int64_t> mask{1, 1, 1, 1, 1, 1}, padded{0, 0, 1, 1}, words{3, 4, 5, 6, 7, 8};
  EXPECT_FALSE(tells_rows_apart(tokens(mask, 3), tokens({1, 1}, 1)));
  EXPECT_FALSE(tells_rows_apart(tokens({1, 1}, 1), tokens(mask, 3)));
  EXPECT_TRUE(tells_rows_apart(tokens(words, 3), tokens({5, 6}, 1)));
  const auto ones = match_cells(tokens(padded, 1), tokens({1, 1}, 1));
  ASSERT_EQ(ones.size(), 1U);
  EXPECT_FALSE(tells_positions_apart(ones, tokens(padded, 1)));
  EXPECT_TRUE(tells_positions_apart(match_cells(tokens(words, 1), tokens({5, 6}, 1)), tokens(words, 1)));
}

TEST(MatchRowsTest, RowsThatFollowOneAnotherAreABlock) {
  EXPECT_EQ(join_rows({{1, 0}, {2, 1}, {3, 4}}), (std::vector<RowAxisMap::Block>{{{1, 0, 2}}, {{3, 4, 1}}}));
}

}  // namespace
}  // namespace opdump::compare
