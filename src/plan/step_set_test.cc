#include "plan/step_set.h"

#include <gtest/gtest.h>

#include <set>

namespace opdump::plan {
namespace {

TEST(StepSet, MergesOverlappingAndAdjacentRanges) {
  StepSet set = StepSet::none();
  set.add(5, 8);
  set.add(0, 0);
  set.add(9, 9);
  set.add(100, 120);
  set.add(7, 11);
  set.add(8, 3);
  EXPECT_EQ(set.format(), "0|5-11|100-120");
}

TEST(StepSet, AllAndNone) {
  StepSet all = StepSet::all();
  all.add(1, 2);
  EXPECT_TRUE(all.contains(UINT64_MAX));
  EXPECT_EQ(all.format(), "all");
  EXPECT_FALSE(StepSet::none().contains(0));
  EXPECT_EQ(StepSet::none().format(), "none");
}

TEST(StepSet, LargestNumber) {
  StepSet set = StepSet::none();
  set.add(UINT64_MAX, UINT64_MAX);
  set.add(3, UINT64_MAX - 1);
  EXPECT_TRUE(set.contains(UINT64_MAX));
  EXPECT_FALSE(set.contains(2));
  EXPECT_EQ(set.format(), "3-18446744073709551615");
}

TEST(StepSet, CountsTheStepsAfterOne) {
  StepSet set = StepSet::none();
  set.add(0, 0);
  set.add(10, 20);
  EXPECT_EQ(set.count_after(0), 11u);
  EXPECT_EQ(set.count_after(5), 11u);
  EXPECT_EQ(set.count_after(10), 10u);
  EXPECT_EQ(set.count_after(20), 0u);
  set.add(0, UINT64_MAX);
  EXPECT_EQ(set.count_after(UINT64_MAX), 0u);
  EXPECT_EQ(StepSet::all().count_after(7), UINT64_MAX);
}

TEST(StepSet, HasTheStepsAfterOne) {
  StepSet set = StepSet::none();
  set.add(0, 0);
  set.add(10, 20);
  EXPECT_EQ(set.after(0).format(), "10-20");
  EXPECT_EQ(set.after(12).format(), "13-20");
  EXPECT_EQ(set.after(12).describe(), "steps 13-20");
  EXPECT_EQ(set.after(19).describe(), "step 20");
  EXPECT_EQ(set.after(20).format(), "none");
  EXPECT_EQ(StepSet::all().after(7).format(), "none");
}

TEST(StepSet, AgreesWithASetOfNumbers) {
  std::uint64_t seed = 1;
  const auto next = [&] {
    return seed = seed * 6364136223846793005u + 1442695040888963407u, (seed >> 33) % 64;
  };
  for (int round = 0; round < 200; ++round) {
    StepSet set = StepSet::none();
    std::set<std::uint64_t> expected;
    for (int i = 0; i < 8; ++i) {
      const std::uint64_t first = next(), last = next();
      set.add(first, last);
      for (std::uint64_t step = first; step <= last; ++step) expected.insert(step);
    }
    for (std::uint64_t step = 0; step < 70; ++step)
      EXPECT_EQ(set.contains(step), expected.contains(step)) << step;
  }
}

}  // namespace
}  // namespace opdump::plan
