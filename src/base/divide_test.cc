#include "base/divide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opdump {
namespace {

TEST(Divide, LargestFirstToWhoHasLeast) {
  const std::vector<std::uint64_t> bytes = {10, 70, 30, 40, 0};
  EXPECT_THAT(divide_by_bytes(bytes, 2), testing::ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(divide_by_bytes(bytes, 1), testing::Each(0u));
  EXPECT_THAT(divide_by_bytes(std::vector<std::uint64_t>(6), 3), testing::ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_TRUE(divide_by_bytes({}, 3).empty());
}

}  // namespace
}  // namespace opdump
