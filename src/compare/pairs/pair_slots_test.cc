#include "compare/pairs/pair_slots.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace opdump::compare {
namespace {

TEST(PairSlots, BySideAndIndex) {
  dump::OperatorRun golden, actual;
  const auto slot = [](model::Side side, std::uint32_t index) {
    dump::Slot s;
    s.side = side;
    s.index = index;
    return s;
  };
  golden.slots = {slot(model::Side::input, 0), slot(model::Side::input, 2), slot(model::Side::output, 0)};
  actual.slots = {slot(model::Side::input, 2), slot(model::Side::output, 0), slot(model::Side::output, 0)};
  const auto pairs = pair_slots(golden, actual, true);
  ASSERT_EQ(pairs.size(), 4u);
  EXPECT_EQ(pairs[0].golden, &golden.slots[0]);
  EXPECT_EQ(pairs[0].actual, nullptr);
  EXPECT_EQ(pairs[1].actual, &actual.slots[0]);
  EXPECT_EQ(pairs[2].golden, &golden.slots[2]);
  EXPECT_EQ(pairs[2].actual, &actual.slots[1]);
  EXPECT_EQ(pairs[3].golden, nullptr);
}

}  // namespace
}  // namespace opdump::compare
