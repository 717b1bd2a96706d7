#include "msaccucmp/judge/numbered_names.h"

#include <gtest/gtest.h>

#include <string>

namespace opdump::msaccucmp {
namespace {

TEST(NumberedNames, NumbersAreThoseOfTheFirstTime) {
  NumberedNames names;
  EXPECT_FALSE(names.find("0"));
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t i = 0; i < 5000; ++i) {
      const auto number = names.add(std::to_string(i));
      ASSERT_TRUE(number);
      ASSERT_EQ(*number, i);
    }
  EXPECT_EQ(names.size(), 5000U);
  EXPECT_EQ(names.find("4999"), 4999U);
  EXPECT_EQ(names.at(17), "17");
  EXPECT_FALSE(names.find("5000"));
}

}  // namespace
}  // namespace opdump::msaccucmp
