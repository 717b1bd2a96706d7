#include "base/number_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace opdump {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> rows(NumberSet& numbers) {
  std::vector<std::string> list;
  EXPECT_TRUE(numbers.visit_rows([&](std::int64_t first, std::int64_t last) {
    list.push_back(std::to_string(first) + ".." + std::to_string(last));
    return ok();
  }));
  return list;
}

TEST(NumberSet, TellsRowsOfDifferentNumbers) {
  NumberSet numbers;
  for (const std::int64_t number : {7, 3, -1, 3, 0, 1, 1, 9, 7, 8}) numbers.add(number);
  EXPECT_THAT(rows(numbers), ElementsAre("-1..1", "3..3", "7..9"));
  EXPECT_THAT(rows(numbers), ElementsAre("-1..1", "3..3", "7..9"));  // as often as one wants
}

TEST(NumberSet, MayBeEmptyOrAtTheLimits) {
  NumberSet none, limits;
  EXPECT_THAT(rows(none), ElementsAre());
  for (const std::int64_t number : {INT64_MAX, INT64_MIN, INT64_MIN + 1, INT64_MAX}) limits.add(number);
  EXPECT_THAT(rows(limits), ElementsAre("-9223372036854775808..-9223372036854775807",
                                        "9223372036854775807..9223372036854775807"));
}

TEST(NumberSet, MayBeMany) {
  NumberSet numbers;
  constexpr std::int64_t kCount = 1'000'000;
  for (std::int64_t i = 0; i < kCount; ++i) numbers.add(i * 7919 % kCount);
  EXPECT_THAT(rows(numbers), ElementsAre("0..999999"));
}

}  // namespace
}  // namespace opdump
