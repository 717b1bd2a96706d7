#include "base/isolated.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <new>

namespace opdump {
namespace {

constexpr IsolationLimits kLimits{1 << 20, 64 << 20, std::chrono::seconds(1)};

std::string text_of(const IsolatedReply& reply) {
  return {reinterpret_cast<const char*>(reply.bytes.get()), reply.size};
}

TEST(Isolated, BringsBackBytesOrTheError) {
  int touched = 0;
  const auto reply = run_isolated(kLimits, [&]() -> Result<std::string> {
    touched = 1;
    return std::string(500'000, 'x');
  });
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(text_of(*reply), std::string(500'000, 'x'));
  EXPECT_EQ(touched, 0);  // in the child only

  const auto error =
      run_isolated(kLimits, []() -> Result<std::string> { return Error(Code::unsupported, "old version"); });
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().code(), Code::unsupported);
  EXPECT_EQ(error.error().message(), "old version");
}

TEST(Isolated, SurvivesWhatTheChildDoesNot) {
  const auto crash = run_isolated(kLimits, []() -> Result<std::string> {
    std::raise(SIGSEGV);
    return std::string();
  });
  ASSERT_FALSE(crash);
  EXPECT_EQ(crash.error().code(), Code::corrupt);

  const auto endless = run_isolated(kLimits, []() -> Result<std::string> {
    for (std::atomic<int> i = 0;; ++i) {
    }
  });
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code(), Code::corrupt);

  const auto longer =
      run_isolated(kLimits, []() -> Result<std::string> { return std::string(2 << 20, 'x'); });
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code(), Code::limit);
}

TEST(Isolated, MemoryIsLimited) {
  const auto reply = run_isolated(kLimits, []() -> Result<std::string> {
    const std::unique_ptr<std::byte[]> much(new (std::nothrow) std::byte[std::size_t{1} << 30]);
    return much ? std::string("granted") : std::string("refused");
  });
  if (reply) {  // a sanitizer's allocator ends the child instead
    EXPECT_EQ(text_of(*reply), "refused");
  }
}

}  // namespace
}  // namespace opdump
