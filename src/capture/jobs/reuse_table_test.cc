#include "capture/jobs/reuse_table.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace opdump::capture {
namespace {

constexpr std::array<float, 4> kValues{1, 2, 3, 4};

ReuseKey key_of(std::uint64_t content) {
  return ReuseKey::make(content, model::TensorView::row_major(model::DType::float32, {4}, kValues.data()),
                        false);
}

KnownBytes with_max(double max) {
  KnownBytes known;
  known.statistics.max = max;
  return known;
}

double max_of(const std::optional<KnownBytes>& known) { return known ? known->statistics.max : -1; }

TEST(ReuseTable, WhatWasNotUsedForAStepIsForgotten) {
  ReuseTable table(false);
  table.add(key_of(1), with_max(10), 0);
  table.add(key_of(2), with_max(20), 0);
  EXPECT_EQ(max_of(table.find(key_of(3), 0)), -1);  // newer than all
  for (int step = 1; step < 4; ++step) {
    table.begin_step();
    EXPECT_EQ(max_of(table.find(key_of(1), step)), 10) << step;
  }
  EXPECT_EQ(max_of(table.find(key_of(2), 4)), -1);
}

TEST(ReuseTable, WhatIsAddedAgainReplacesWhatWasKnown) {
  ReuseTable table(false);
  table.add(key_of(5), with_max(10), 0);
  table.add(key_of(2), with_max(20), 0);  // numbers need not grow
  table.begin_step();
  table.add(key_of(5), with_max(30), 1);
  table.begin_step();
  EXPECT_EQ(max_of(table.find(key_of(5), 2)), 30);
  EXPECT_EQ(max_of(table.find(key_of(2), 2)), -1);
}

TEST(ReuseTable, OtherTensorsMakeItForgetToo) {
  ReuseTable table(false);
  constexpr std::uint64_t kMany = 16 * 1024;
  table.add(key_of(1), with_max(10), 0);
  for (std::uint64_t content = 2; content < kMany; ++content) table.add(key_of(content), {}, 0);
  EXPECT_EQ(max_of(table.find(key_of(1), 0)), 10);
  for (std::uint64_t content = kMany; content <= 3 * kMany; ++content) table.add(key_of(content), {}, 0);
  EXPECT_EQ(max_of(table.find(key_of(1), 0)), -1);
}

TEST(ReuseTable, FilesAreSharedWithinAStep) {
  ReuseTable table(true);
  table.add(key_of(1), with_max(10), 0);
  EXPECT_EQ(max_of(table.find(key_of(1), 0)), 10);
  table.begin_step();
  EXPECT_EQ(max_of(table.find(key_of(1), 1)), -1);
}

}  // namespace
}  // namespace opdump::capture
