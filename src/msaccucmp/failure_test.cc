#include "msaccucmp/failure.h"

#include <gtest/gtest.h>

#include <string>

#include "msaccucmp/judge/numbered_names.h"

namespace opdump::msaccucmp {
namespace {

TEST(Journal, KeepsTheOrderOfVeryManyLines) {
  Journal journal;
  for (int i = 0; i < 100000; ++i)
    journal.add(i % 2 == 0 ? Journal::Severity::info : Journal::Severity::error,
                std::to_string(i) + std::string(i % 100, 'x'));
  int next = 0;
  journal.visit([&](const Journal::Line& line) {
    EXPECT_EQ(line.severity, next % 2 == 0 ? Journal::Severity::info : Journal::Severity::error);
    EXPECT_EQ(line.text, std::to_string(next) + std::string(next % 100, 'x'));
    ++next;
  });
  EXPECT_EQ(next, 100000);
  journal.clear();
  EXPECT_TRUE(journal.empty());
}

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
