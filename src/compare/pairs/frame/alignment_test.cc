#include "compare/pairs/frame/alignment.h"

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

TEST(Alignment, EqualNamesCountWhereTheyExplainMore) {
  std::vector<Surroundings> golden, actual;
  for (const auto& [name, norm] :
       {std::pair("slice", 1.0), std::pair("slice_1", 2.0), std::pair("slice_2", 3.0)}) {
    golden.push_back(place({norm}));
    golden.back().name = name;
  }
  actual = {golden[2], golden[0]};
  EXPECT_THAT(align(golden, actual), ElementsAre(Pair(0, 1), Pair(2, 0)));
  actual = {golden[0], golden[1]};  // the last one is absent, or, by the tensors, the first
  for (std::size_t i : {0, 1}) actual[i].norms = golden[i + 1].norms;
  EXPECT_THAT(align(golden, actual), ElementsAre(Pair(1, 0), Pair(2, 1)));
}

}  // namespace
}  // namespace opdump::compare
