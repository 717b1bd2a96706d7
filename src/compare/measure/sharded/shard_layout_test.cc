#include "compare/measure/sharded/shard_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace opdump::compare {
namespace {

using model::Shape;
using model::TensorView;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = Placement::Kind;

std::vector<float> count_up(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

std::vector<float> elements_of(const TensorView& view) {
  std::vector<float> values(view.element_count());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t offset = 0;
    auto left = static_cast<std::int64_t>(i);
    for (std::size_t axis = view.shape.rank(); axis-- > 0; left /= view.shape[axis])
      offset += left % view.shape[axis] * view.strides[axis];
    values[i] = reinterpret_cast<const float*>(view.data)[offset];
  }
  return values;
}

// The elements of the whole, 0, 1, ..., that a rank has.
std::vector<float> part_of(const Shape& whole, const Shape& shard, const ShardLayout& layout,
                           std::size_t rank) {
  const std::vector<float> all = count_up(*model::element_count(whole)), own(*model::element_count(shard));
  const auto views =
      view_shard(TensorView::row_major(model::DType::float32, whole, all.data()),
                 TensorView::row_major(model::DType::float32, shard, own.data()), layout, rank);
  if (!views) return {};
  EXPECT_EQ(views->whole.shape, views->shard.shape);
  return elements_of(views->whole);
}

constexpr Placement kReplicate{};
Placement cut(std::size_t axis, std::int64_t blocks = 1) { return {Kind::shard, axis, blocks}; }

TEST(ShardLayout, CutsAnAxis) {
  const ShardLayout rows{{2}, {cut(0)}}, columns{{2}, {cut(1)}};
  EXPECT_THAT(part_of({4, 2}, {2, 2}, rows, 1), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(part_of({2, 4}, {2, 2}, columns, 0), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(part_of({2, 4}, {2, 3}, columns, 0), IsEmpty());
}

TEST(ShardLayout, CutsEachBlockOfAnAxis) {
  const ShardLayout layout{{2}, {cut(0, 3)}};
  EXPECT_THAT(part_of({6}, {3}, layout, 0), ElementsAre(0, 2, 4));
  EXPECT_THAT(part_of({6}, {3}, layout, 1), ElementsAre(1, 3, 5));
}

TEST(ShardLayout, CutsAsChunkDoesWhereSizesDoNotDivide) {
  const ShardLayout layout{{3}, {cut(0)}};
  EXPECT_THAT(part_of({7}, {3}, layout, 1), ElementsAre(3, 4, 5));
  EXPECT_THAT(part_of({7}, {1}, layout, 2), ElementsAre(6));
}

// Rows of a batch by the first dimension, places of a sequence by the second, of an axis that has both.
TEST(ShardLayout, CutsAnAxisTwice) {
  const ShardLayout layout{{2, 2}, {cut(0), cut(0, 2)}};
  EXPECT_THAT(part_of({16}, {4}, layout, 0), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(part_of({16}, {4}, layout, 3), ElementsAre(10, 11, 14, 15));
}

TEST(ShardLayout, KnowsTheTermsOfSums) {
  const ShardLayout layout{{2, 2}, {cut(0), {.kind = Kind::sum}}};
  EXPECT_THAT(layout.terms_of(3), ElementsAre(2, 3));
  EXPECT_EQ(layout.describe(), "axis 0 in 2 parts, a sum of 2");
  const ShardLayout outer{{2, 2}, {{.kind = Kind::sum}, kReplicate}};
  EXPECT_THAT(outer.terms_of(1), ElementsAre(1, 3));
}

TEST(ShardLayout, FindsThePlainestFirst) {
  const auto same = find_shard_layouts({4, 4}, {4, 4}, 2, {}, true);
  ASSERT_EQ(same.size(), 2U);
  EXPECT_EQ(same[0].placements, std::vector{kReplicate});
  EXPECT_TRUE(same[1].has_sums());
  const auto halves = find_shard_layouts({4, 4}, {4, 2}, 2, {}, true);
  ASSERT_EQ(halves.size(), 2U);
  EXPECT_EQ(halves[0].placements, std::vector{cut(1)});
  EXPECT_EQ(halves[1].placements, std::vector{cut(1, 2)});
  EXPECT_THAT(find_shard_layouts({4, 4}, {4, 3}, 2, {}, true), IsEmpty());
  EXPECT_THAT(find_shard_layouts({4, 4}, {16}, 2, {}, true), IsEmpty());
}

TEST(ShardLayout, KeepsToWhatIsKnown) {
  const auto halves = find_shard_layouts({4, 4}, {4, 2}, 4, {{2, 2}, {std::nullopt, cut(1)}}, false);
  ASSERT_EQ(halves.size(), 1U);
  EXPECT_THAT(halves[0].placements, ElementsAre(kReplicate, cut(1)));
  const KnownLayout blocks{{2, 2}, {cut(0, 2), cut(0)}};
  ASSERT_EQ(find_shard_layouts({16}, {4}, 4, blocks, false).size(), 1U);
  EXPECT_THAT(find_shard_layouts({16}, {8}, 4, blocks, false), IsEmpty());
  const KnownLayout sum{{2}, {Placement{.kind = Kind::sum}}};
  EXPECT_TRUE(find_shard_layouts({4}, {4}, 2, sum, false).at(0).has_sums());
  // An axis that is too short for all ranks, and one that does not exist.
  EXPECT_EQ(find_shard_layouts({1}, {1}, 2, {{2}, {cut(0)}}, false).size(), 1U);
  EXPECT_THAT(find_shard_layouts({4}, {2}, 2, {{2}, {cut(1)}}, false), IsEmpty());
}

TEST(ShardLayout, TriesMeshesOfTheRanks) {
  for (const ShardLayout& layout : find_shard_layouts({6}, {2}, 6, {}, false))
    EXPECT_EQ(std::ranges::count(layout.placements, Kind::shard, &Placement::kind), 1);
  EXPECT_EQ(find_shard_layouts({6}, {2}, 6, {}, false).size(), 4U);  // meshes (2,3) and (3,2), 1 or 2 blocks
}

TEST(ShardLayout, FoldsTheFirstAxes) {
  EXPECT_EQ(fold_axes({2, 3, 4}, 2), Shape({6, 4}));
  EXPECT_EQ(fold_axes({2, 3}, 2), Shape({2, 3}));
  EXPECT_EQ(fold_axes({2, 3}, 0), Shape({2, 3}));
}

TEST(ShardLayout, ThinsOutBothAlike) {
  const std::vector<float> values = count_up(100);
  const TensorView all = TensorView::row_major(model::DType::float32, {10, 10}, values.data());
  const ShardViews thin = thin_out({all, all}, 20);
  EXPECT_LE(thin.whole.element_count(), 20U);
  EXPECT_EQ(elements_of(thin.whole), elements_of(thin.shard));
}

}  // namespace
}  // namespace opdump::compare
