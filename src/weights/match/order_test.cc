#include "weights/match/order.h"

#include <gtest/gtest.h>

#include <numeric>

namespace opdump::weights {
namespace {

using Rows = std::vector<std::uint64_t>;

Rows numbered(std::uint64_t count, std::uint64_t first = 1) {
  Rows rows(count);
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

// What the runs say is where they say it.
void expect_right(const std::vector<RowRun>& runs, const Rows& golden, const Rows& actual) {
  std::uint64_t rows = 0;
  for (const RowRun& run : runs)
    for (std::uint64_t i = 0; i < run.count; ++i, ++rows)
      EXPECT_EQ(golden[run.golden + i * run.golden_step], actual[run.actual + i * run.actual_step]);
  EXPECT_EQ(rows, golden.size());
}

TEST(RowOrder, RowsThatLieAsTheyAre) {
  const RowOrder order = find_row_order(numbered(64), numbered(64));
  EXPECT_EQ(order.runs, (std::vector<RowRun>{{0, 0, 64}}));
  EXPECT_EQ(order.words, "");
  EXPECT_EQ(order.share, 1);
}

TEST(RowOrder, PairsBecomeHalvesAndBack) {
  const Rows pairs = numbered(64);
  Rows halves;
  for (std::uint64_t head = 0; head < 64; head += 16) {
    for (std::uint64_t i = 0; i < 16; i += 2) halves.push_back(pairs[head + i]);
    for (std::uint64_t i = 1; i < 16; i += 2) halves.push_back(pairs[head + i]);
  }
  const RowOrder there = find_row_order(pairs, halves), back = find_row_order(halves, pairs);
  EXPECT_EQ(there.words, "rows of heads of 16 from pairs to halves (rotary order)");
  EXPECT_EQ(back.words, "rows of heads of 16 from halves to pairs (rotary order)");
  expect_right(there.runs, pairs, halves);
  expect_right(back.runs, halves, pairs);
}

TEST(RowOrder, TwoExchangedRowsAreNoOrder) {
  Rows exchanged = numbered(64);
  std::swap(exchanged[3], exchanged[5]);
  const RowOrder order = find_row_order(numbered(64), exchanged);
  EXPECT_EQ(order.words, "");
  EXPECT_LT(order.share, 1);
}

TEST(RowOrder, PartsOneAfterTheOther) {
  const Rows part = numbered(16, 100);
  Rows whole = numbered(32);
  whole.insert(whole.end(), part.begin(), part.end());
  const PartPlace place = find_place(part, whole);
  EXPECT_EQ(place.groups, 1U);
  EXPECT_EQ(place.offset, 32U);
  expect_right(place.order.runs, part, whole);
}

TEST(RowOrder, PartsInGroups) {
  const Rows q = numbered(32), k = numbered(16, 100), v = numbered(16, 200);
  Rows whole;
  for (std::uint64_t group = 0; group < 4; ++group) {
    whole.insert(whole.end(), q.begin() + group * 8, q.begin() + group * 8 + 8);
    whole.insert(whole.end(), k.begin() + group * 4, k.begin() + group * 4 + 4);
    whole.insert(whole.end(), v.begin() + group * 4, v.begin() + group * 4 + 4);
  }
  const PartPlace place = find_place(k, whole);
  EXPECT_EQ(place.groups, 4U);
  EXPECT_EQ(place.offset, 8U);
  EXPECT_EQ(place.rows, 4U);
  expect_right(place.order.runs, k, whole);
}

TEST(RowOrder, OneWrongRowOfAPartIsFoundInItsPlace) {
  const Rows part = numbered(16, 100);
  Rows whole = numbered(32);
  whole.insert(whole.end(), part.begin(), part.end());
  whole[32 + 5] = 999;
  const PartPlace place = find_place(part, whole);
  EXPECT_EQ(place.offset, 32U);
  EXPECT_EQ(place.order.share, 15.0 / 16);
}

TEST(RowOrder, WhatIsElsewhereHasNoPlace) {
  EXPECT_TRUE(find_place(numbered(16, 1000), numbered(64)).order.runs.empty());
}

}  // namespace
}  // namespace opdump::weights
