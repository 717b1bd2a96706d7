#include "base/text/expansion.h"

#include <gtest/gtest.h>

namespace opdump {
namespace {

constexpr std::uint64_t kMib = 1 << 20, kGib = 1 << 30;

bool may(std::uint64_t stored, std::uint64_t bytes) {
  return static_cast<bool>(check_expansion(stored, bytes, "text"));
}

TEST(Expansion, IsLimited) {
  EXPECT_TRUE(may(0, kGib));
  EXPECT_FALSE(may(0, kGib + 1));
  EXPECT_FALSE(may(kMib, 6 * kGib));
  EXPECT_TRUE(may(100 * kMib, 25 * kGib));
  EXPECT_FALSE(may(100 * kMib, 26 * kGib));
  EXPECT_TRUE(may(UINT64_MAX / 2, UINT64_MAX));
  EXPECT_EQ(check_expansion(kMib, 6 * kGib, "text").error().message(),
            "1.0 MiB would become 6.0 GiB of text, and 1.0 GiB are allowed; "
            "--max-expand or OPDUMP_MAX_EXPAND allows more");
  set_most_expanded(8 * kGib);
  EXPECT_TRUE(may(kMib, 6 * kGib));
  set_most_expanded(0);
  EXPECT_FALSE(may(kMib, 2 * kMib));
  EXPECT_TRUE(may(kMib, kMib));
}

}  // namespace
}  // namespace opdump
