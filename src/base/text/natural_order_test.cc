#include "base/text/natural_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace opdump {
namespace {

TEST(NaturalOrder, CountsNumbersAsNumbers) {
  const std::vector<std::string> expected{"",
                                          "blocks",
                                          "blocks.2",
                                          "blocks.2/op9",
                                          "blocks.02x",
                                          "blocks.2y/op",
                                          "blocks.10",
                                          "blocks.10/op1",
                                          "blocks.10/op10",
                                          "blocks.99999999999999999999",
                                          "blocks.100000000000000000000",
                                          "head"};
  std::vector<std::string> names(expected.rbegin(), expected.rend());
  std::sort(names.begin(), names.end(), natural_less);
  EXPECT_EQ(names, expected);
}

TEST(NaturalOrder, IsStrict) {
  for (const char* a : {"", "1", "01", "001", "a1", "a01", "1a", "01a"}) {
    EXPECT_FALSE(natural_less(a, a)) << a;
    for (const char* b : {"", "1", "01", "001", "a1", "a01", "1a", "01a"}) {
      if (std::string(a) == b) continue;
      EXPECT_NE(natural_less(a, b), natural_less(b, a)) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace opdump
