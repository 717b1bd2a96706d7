#include "compare/pairs/sharded/rank_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opdump::compare {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RankGroups, NeighboursFirst) {
  EXPECT_THAT(find_rank_groups(4, 2), ElementsAre(RankGroups{{0, 1}, {2, 3}}, RankGroups{{0, 2}, {1, 3}}));
  EXPECT_THAT(find_rank_groups(3, 1), ElementsAre(RankGroups{{0, 1, 2}}));
  EXPECT_THAT(find_rank_groups(1, 1), ElementsAre(RankGroups{{0}}));
}

TEST(RankGroups, PartsOfTwoDimensions) {
  EXPECT_THAT(find_rank_groups(8, 2), Contains(RankGroups{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_THAT(find_rank_groups(6, 3), Contains(RankGroups{{0, 3}, {1, 4}, {2, 5}}));
}

TEST(RankGroups, NoneUnlessTheNumberDivides) {
  EXPECT_THAT(find_rank_groups(4, 3), IsEmpty());
  EXPECT_THAT(find_rank_groups(2, 4), IsEmpty());
  EXPECT_THAT(find_rank_groups(4, 0), IsEmpty());
  EXPECT_LE(find_rank_groups(1 << 20, 1 << 10).size(), 64U);
}

}  // namespace
}  // namespace opdump::compare
