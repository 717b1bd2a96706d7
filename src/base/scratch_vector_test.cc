#include "base/scratch_vector.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace opdump {
namespace {

struct Entry {
  std::uint64_t value = 0;
  std::uint32_t index = 0;
};

TEST(ScratchVector, KeepsMoreThanMayBeMemory) {
  constexpr std::uint64_t kCount = 2 * kScratchHeldBytes / sizeof(Entry);
  ScratchVector<Entry> entries;
  EXPECT_TRUE(entries.empty());
  for (std::uint64_t i = 0; i < kCount; ++i)
    ASSERT_TRUE(entries.push_back({i * i, static_cast<std::uint32_t>(i)}));
  ASSERT_EQ(entries.size(), kCount);
  for (std::uint64_t i = kCount; i-- > 0;) ASSERT_EQ(entries[i].value, i * i);
  entries[kCount / 2].index = 7;
  EXPECT_EQ(entries[kCount / 2].index, 7U);
}

TEST(ScratchVector, ChangesItsSize) {
  ScratchVector<std::uint32_t> numbers;
  ASSERT_TRUE(numbers.resize(500000, 3));
  EXPECT_EQ(numbers[499999], 3U);
  ASSERT_TRUE(numbers.resize(2, 0));
  ASSERT_TRUE(numbers.push_back(5));
  EXPECT_EQ(numbers.size(), 3U);
  EXPECT_EQ(numbers[2], 5U);
}

}  // namespace
}  // namespace opdump
