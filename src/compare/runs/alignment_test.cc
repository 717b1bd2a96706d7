#include "compare/runs/alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace opdump::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

Surroundings place(std::vector<double> norms) {
  return {"before", "after", "(2)", "train.py:3", std::move(norms)};
}

const Surroundings kOther{"start", "end", "(3)", "train.py:9", {1}};

TEST(Alignment, OperatorsThatRanInAnotherOrderArePairedByTheirTensors) {
  const std::vector<Surroundings> golden{kOther, place({4, 5}), place({6, 7})};
  const std::vector<Surroundings> actual{place({6, 7}), place({4, 5})};
  EXPECT_THAT(align(golden, actual), ElementsAre(Pair(1, 1), Pair(2, 0)));
}

TEST(Alignment, WithoutOneOtherThatIsAlikeTheOrderCounts) {
  const std::vector<Surroundings> golden{kOther, place({4, 5}), place({6, 7})};
  EXPECT_THAT(align(golden, {place({8, 9}), place({8, 9})}), ElementsAre(Pair(1, 0), Pair(2, 1)));
  EXPECT_THAT(align(golden, {place({8, 9}), place({6, 7})}), ElementsAre(Pair(1, 0), Pair(2, 1)));
}

TEST(Alignment, OfTwoCallsThatAreAlikeTheOneWithTheSameTensorsCounts) {
  EXPECT_THAT(align({place({4, 5})}, {place({4, 5.001}), place({4, 5})}), ElementsAre(Pair(0, 1)));
  EXPECT_THAT(align({place({4, 5})}, {place({4, 5}), place({4, 5.001})}), ElementsAre(Pair(0, 0)));
}

}  // namespace
}  // namespace opdump::compare
