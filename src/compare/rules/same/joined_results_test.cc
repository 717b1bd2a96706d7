#include "compare/rules/same/joined_results.h"

#include <gtest/gtest.h>

namespace opdump::compare {
namespace {

using Places = std::vector<std::size_t>;

TEST(JoinedResultsTest, FindsPiecesInAnyOrderWithZerosBetween) {
  const std::vector<double> whole{3, 4, 0, 1, 2, 0, 0};
  const std::vector<std::vector<double>> pieces{{1, 2}, {3, 4}, {5}};
  EXPECT_EQ(find_pieces(whole, pieces, 1e-6), (Places{1, 0}));
}

TEST(JoinedResultsTest, TakesEachPieceOnce) {
  const std::vector<double> whole{1, 2, 1, 2};
  const std::vector<std::vector<double>> once{{1, 2}, {3}}, twice{{1, 2}, {1, 2}};
  EXPECT_TRUE(find_pieces(whole, once, 1e-6).empty());
  EXPECT_EQ(find_pieces(whole, twice, 1e-6), (Places{0, 1}));
}

TEST(JoinedResultsTest, FindsNothingWhereAnElementDiffersOrIsLeft) {
  const std::vector<std::vector<double>> pieces{{1, 2}, {3, 4}};
  EXPECT_TRUE(find_pieces(std::vector<double>{1, 2, 3, 4.1}, pieces, 1e-3).empty());
  EXPECT_EQ(find_pieces(std::vector<double>{1, 2, 3, 4.001}, pieces, 1e-3), (Places{0, 1}));
  EXPECT_TRUE(find_pieces(std::vector<double>{1, 2, 3, 4, 5}, pieces, 1e-3).empty());
}

TEST(JoinedResultsTest, OnePieceIsNoJoin) {
  const std::vector<std::vector<double>> pieces{{1, 2}};
  EXPECT_TRUE(find_pieces(std::vector<double>{1, 2}, pieces, 1e-3).empty());
}

}  // namespace
}  // namespace opdump::compare
