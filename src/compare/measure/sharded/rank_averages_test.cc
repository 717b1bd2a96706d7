#include "compare/measure/sharded/rank_averages.h"

#include <gtest/gtest.h>

namespace opdump::compare {
namespace {

RankAverages::Tensor tensor(std::vector<double> elements, double error = 1) {
  const model::Shape shape{1, static_cast<std::int64_t>(elements.size())};
  return {shape, std::move(elements), error};
}

// Rank r of four has 2^r times these.
RankAverages make_averages() {
  RankAverages averages;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const double factor = 1 << rank;
    averages.add("sum-op0", rank, tensor({1 * factor, -2 * factor, 3 * factor, 5 * factor, 7 * factor}));
  }
  return averages;
}

TEST(RankAverages, MeansAndSumsOverADimensionOfTheMesh) {
  const RankAverages averages = make_averages();
  EXPECT_TRUE(averages.contain(2, tensor({3.75, -7.5, 11.25, 18.75, 26.25})));  // (1 + 2 + 4 + 8) / 4
  EXPECT_TRUE(averages.contain(2, tensor({15, -30, 45, 75, 105})));
  EXPECT_TRUE(averages.contain(2, tensor({6, -12, 18, 30, 42})));        // ranks 2 and 3
  EXPECT_TRUE(averages.contain(2, tensor({2.5, -5, 7.5, 12.5, 17.5})));  // ranks 0 and 2
  EXPECT_FALSE(averages.contain(2, tensor({1.5, -3, 4.5, 7.5, 10.5})));  // ranks 0 and 1
  EXPECT_FALSE(averages.contain(2, tensor({2.5, -5, 7.5, 12.5, 17})));
  EXPECT_FALSE(averages.contain(4, tensor({15, -30, 45, 75, 105})));
}

TEST(RankAverages, PartsOfThemAsTorchCutsThem) {
  const RankAverages averages = make_averages();
  EXPECT_TRUE(averages.contain(0, tensor({3.75, -7.5, 11.25})));  // of 2 parts: 3 and 2
  EXPECT_TRUE(averages.contain(0, tensor({18.75, 26.25})));
  EXPECT_TRUE(averages.contain(0, tensor({11.25, 18.75})));  // of 4 parts: 2, 2, 1 and 0
  EXPECT_FALSE(averages.contain(0, tensor({-7.5, 11.25, 18.75})));
  EXPECT_FALSE(averages.contain(0, tensor({26.25})));
}

TEST(RankAverages, AnErrorThatIsMuchLargerIsNone) {
  const RankAverages averages = make_averages();
  EXPECT_TRUE(averages.contain(0, tensor({15, -30, 45, 75, 105}, 4)));
  EXPECT_FALSE(averages.contain(0, tensor({15, -30, 45, 75, 105}, 40)));
}

TEST(RankAverages, OfRanksWithOtherShapesThereIsNone) {
  RankAverages averages;
  averages.add("sum-op0", 0, tensor({1, 2}));
  averages.add("sum-op0", 1, tensor({1, 2, 3}));
  EXPECT_TRUE(averages.contain(0, tensor({1, 2})));
  EXPECT_FALSE(averages.contain(0, tensor({2, 4})));
}

}  // namespace
}  // namespace opdump::compare
