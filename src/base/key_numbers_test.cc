#include "base/key_numbers.h"

#include <gtest/gtest.h>

#include <string>

namespace opdump {
namespace {

TEST(KeyNumbers, KeepsAllWhileItGrows) {
  constexpr std::uint64_t kCount = 300'000;
  KeyNumbers numbers;
  for (std::uint64_t i = 0; i < 2 * kCount; ++i) {
    const auto number = numbers.at(KeyNumbers::key_of("name" + std::to_string(i % kCount)));
    ASSERT_TRUE(number) << number.error().message();
    EXPECT_EQ(**number, i < kCount ? 0 : i % kCount + 7);
    **number = i + 7;
  }
  EXPECT_EQ(**numbers.at(KeyNumbers::key_of("name")), 0u);
}

TEST(KeyNumbers, KeysThatFollowOneAnother) {
  KeyNumbers numbers;
  for (std::uint64_t key = 1; key < 5000; ++key) **numbers.at(key << 10) = key;
  for (std::uint64_t key = 1; key < 5000; ++key) EXPECT_EQ(**numbers.at(key << 10), key);
}

}  // namespace
}  // namespace opdump
