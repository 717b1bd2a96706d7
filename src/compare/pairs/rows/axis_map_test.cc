#include "compare/pairs/rows/axis_map.h"

#include <gtest/gtest.h>

namespace opdump::compare {
namespace {

using model::Shape;

// Row 2 of 4 is the only row.
RowAxisMap row_of_batch() { return {.axes = {{"row", 4, 1}}, .blocks = {{{2, 0, 1}}}}; }

TEST(AxisMapTest, OneExtentMakesTheDifference) {
  const auto found = find_parts(row_of_batch(), {4, 10, 32}, {1, 10, 32});
  ASSERT_TRUE(found && found->parts != nullptr);
  EXPECT_TRUE(found->has_axis.front());
  ASSERT_EQ(found->parts->plans.size(), 1U);
  EXPECT_EQ(found->parts->plans.front().parts.front(), (TensorPart{{2, 0, 0}, {0, 0, 0}, {1, 10, 32}}));
}

TEST(AxisMapTest, RowsAreTheOutermostFactorFirst) {
  const auto found = find_parts(row_of_batch(), {40, 32}, {10, 32});
  ASSERT_TRUE(found && found->parts != nullptr);
  ASSERT_EQ(found->parts->plans.size(), 2U);
  EXPECT_EQ(found->parts->plans[0].golden.sizes, Shape({4, 10, 32}));
  EXPECT_EQ(found->parts->plans[0].parts.front(), (TensorPart{{2, 0, 0}, {0, 0, 0}, {1, 10, 32}}));
  EXPECT_EQ(found->parts->plans[1].golden.sizes, Shape({10, 4, 32}));
}

TEST(AxisMapTest, OtherShapesAreNoRows) {
  EXPECT_FALSE(find_parts(row_of_batch(), {4, 10}, {4, 10, 1}));
  EXPECT_FALSE(find_parts(row_of_batch(), {4, 10}, {2, 10}));
  EXPECT_FALSE(find_parts(row_of_batch(), {4, 10}, {1, 9}));
  const auto same = find_parts(row_of_batch(), {4, 4}, {4, 4});
  ASSERT_TRUE(same);
  EXPECT_EQ(same->parts, nullptr);
}

TEST(AxisMapTest, PositionsOfEachRow) {
  const RowAxisMap map{.axes = {{"row", 2, 2}, {"position", 10, 6}},
                       .blocks = {{{0, 0, 1}, {4, 0, 6}}, {{1, 1, 1}, {2, 0, 5}}}};
  const auto flat = find_parts(map, {20, 32}, {12, 32});
  ASSERT_TRUE(flat && flat->parts != nullptr);
  EXPECT_EQ(flat->parts->plans.front().golden.sizes, Shape({2, 10, 32}));
  EXPECT_EQ(flat->parts->plans.front().parts[1], (TensorPart{{1, 2, 0}, {1, 0, 0}, {1, 5, 32}}));
  // Scores of attention have the positions twice, and heads within the rows.
  const auto scores = find_parts(map, {8, 10, 10}, {8, 6, 6});
  ASSERT_TRUE(scores && scores->parts != nullptr);
  EXPECT_EQ(scores->parts->plans.front().parts[0], (TensorPart{{0, 0, 4, 4}, {0, 0, 0, 0}, {1, 4, 6, 6}}));
  // What has no rows is not the same for all of them.
  const auto numbers = find_parts(map, {10}, {6});
  ASSERT_TRUE(numbers && numbers->parts != nullptr);
  EXPECT_FALSE(numbers->parts->left_out.empty());
}

TEST(AxisMapTest, AMaskIsSpreadOverRows) {
  const RowAxisMap map{.axes = {{"row", 4, 4}, {"position", 6, 10}}, .blocks = {{{0, 0, 4}, {0, 4, 6}}}};
  EXPECT_FALSE(find_parts(map, {4, 1, 6, 6}, {10, 10}));
  const auto found = find_parts(map, {4, 1, 6, 6}, {10, 10}, true);
  ASSERT_TRUE(found && found->parts != nullptr);
  const PartPlan& plan = found->parts->plans.front();
  EXPECT_EQ(plan.actual.sizes, Shape({4, 1, 10, 10}));
  EXPECT_EQ(plan.actual.axes, (std::vector<std::size_t>{Factors::kSpread, Factors::kSpread, 0, 1}));
  EXPECT_EQ(plan.parts.front(), (TensorPart{{0, 0, 0, 0}, {0, 0, 4, 4}, {4, 1, 6, 6}}));
  EXPECT_FALSE(find_parts(map, {3, 6}, {2, 10}, true));
}

TEST(AxisMapTest, WholeAxesAndPlaces) {
  EXPECT_FALSE(row_of_batch().is_whole(0));
  EXPECT_EQ(row_of_batch().actual_place(0, 2), 0);
  EXPECT_EQ(row_of_batch().actual_place(0, 1), std::nullopt);
  const RowAxisMap turned{.axes = {{"row", 2, 2}}, .blocks = {{{0, 1, 1}}, {{1, 0, 1}}}};
  EXPECT_TRUE(turned.is_whole(0));
  EXPECT_EQ(describe(row_of_batch()), "row 2 of 4 = the only row");
  EXPECT_EQ(describe(turned), "row 0 of 2 = row 1 of 2, row 1 of 2 = row 0 of 2");
}

}  // namespace
}  // namespace opdump::compare
