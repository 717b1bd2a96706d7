#include "compare/pairs/sharded/recorded_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opdump::compare {
namespace {

using ::testing::ElementsAre;

dump::CallLayout at(std::int64_t row, std::int64_t column, const std::string& placements) {
  return {.mesh = {2, 2}, .place = {row, column}, .slots = {{"input.0", placements}}};
}

TEST(RecordedLayout, OfRanksInAnyOrder) {
  const std::string text = "any shard:1:3";
  const std::vector<dump::CallLayout> ranks{at(0, 0, text), at(1, 0, text), at(0, 1, text), at(1, 1, text)};
  const auto recorded = find_recorded_layout(ranks, "input.0");
  ASSERT_TRUE(recorded);
  EXPECT_THAT(recorded->known.mesh, ElementsAre(2, 2));
  EXPECT_THAT(recorded->known.placements, ElementsAre(std::nullopt, Placement{Placement::Kind::shard, 1, 3}));
  EXPECT_THAT(recorded->places, ElementsAre(0, 2, 1, 3));
  EXPECT_FALSE(find_recorded_layout(ranks, "output.0"));
}

TEST(RecordedLayout, NothingUnlessTheRanksAgreeAndFillTheMesh) {
  const auto find = [](const std::vector<dump::CallLayout>& ranks) {
    return find_recorded_layout(ranks, "input.0").has_value();
  };
  const std::string text = "sum replicate";
  const std::vector<dump::CallLayout> good{at(0, 0, text), at(0, 1, text), at(1, 0, text), at(1, 1, text)};
  EXPECT_TRUE(find(good));
  EXPECT_FALSE(find({}));
  EXPECT_FALSE(find({good[0], good[1], good[2]}));
  EXPECT_FALSE(find({good[0], good[1], good[2], {}}));
  EXPECT_FALSE(find({good[0], good[1], good[2], good[2]}));
  EXPECT_FALSE(find({good[0], good[1], good[2], at(1, 2, text)}));
  EXPECT_FALSE(find({good[0], good[1], good[2], at(1, 1, "sum shard:0")}));
  for (const std::string bad : {"sum", "sum sum sum", "sum shared", "", "sum  sum"})
    EXPECT_FALSE(find({at(0, 0, bad), at(0, 1, bad), at(1, 0, bad), at(1, 1, bad)})) << bad;
  std::vector<dump::CallLayout> huge = good;
  for (dump::CallLayout& layout : huge) layout.mesh = {INT64_MAX, INT64_MAX};
  EXPECT_FALSE(find(huge));
}

}  // namespace
}  // namespace opdump::compare
