#include "compare/pairs/sharded/shard_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opdump::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ShardRules, TheFirstLineThatFitsApplies) {
  const auto rules = parse_shard_rules(
      "# a comment\nmesh 2 2\n\nattention/qkv output.0 replicate shard:1:3\n* output replicate sum # all "
      "others\n");
  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->rank_count(), 4);
  dump::Slot slot;
  slot.side = model::Side::output;
  const KnownLayout qkv = rules->find("Default/attention/qkv-Linear/addmm-op0", slot);
  EXPECT_THAT(qkv.mesh, ElementsAre(2, 2));
  EXPECT_THAT(qkv.placements, ElementsAre(Placement{}, Placement{Placement::Kind::shard, 1, 3}));
  EXPECT_THAT(rules->find("Default/down/mm-op0", slot).placements,
              ElementsAre(Placement{}, Placement{.kind = Placement::Kind::sum}));
  slot.side = model::Side::input;
  EXPECT_EQ(rules->find("Default/down/mm-op0", slot), (KnownLayout{.mesh = {2, 2}}));
}

TEST(ShardRules, ErrorsNameTheLine) {
  const auto message = [](std::string_view text) { return parse_shard_rules(text).error().message(); };
  EXPECT_THAT(message("a output sum"), HasSubstr("line 1: expected first a line with the mesh"));
  EXPECT_THAT(message("mesh 2\na output sum sum"),
              HasSubstr("line 2: expected a part of an operator's name"));
  EXPECT_THAT(message("mesh 2\na output shard:x"), HasSubstr("\"shard:x\" is no placement"));
  EXPECT_THAT(message("mesh 2\na result sum"), HasSubstr("\"result\" is no slot"));
  EXPECT_THAT(message("mesh 1048576 1048576"), HasSubstr("is no size"));
  EXPECT_THAT(message("mesh 0"), HasSubstr("is no size"));
}

}  // namespace
}  // namespace opdump::compare
