#include "base/process/isolated.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <new>
#include <string>

namespace opdump {
namespace {

constexpr IsolationLimits kLimits{1 << 20, 64 << 20, std::chrono::seconds(1)};

// All that `body` writes.
Result<std::string> ask(const std::function<Result<>(const IsolatedSend& send)>& body) {
  std::string written;
  OPDUMP_CHECK_OK(run_isolated(kLimits, body, [&](std::string_view bytes) {
    written += bytes;
    return ok();
  }));
  return written;
}

TEST(Isolated, BringsBackBytesOrTheError) {
  int touched = 0;
  const auto reply = ask([&](const IsolatedSend& send) -> Result<> {
    touched = 1;
    send(std::string(500'000, 'x'));
    send("y");
    return ok();
  });
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(*reply, std::string(500'000, 'x') + "y");
  EXPECT_EQ(touched, 0);  // in the child only

  const auto error = ask([](const IsolatedSend& send) -> Result<> {
    send("a part");
    return Error(Code::unsupported, "old version");
  });
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().code(), Code::unsupported);
  EXPECT_EQ(error.error().message(), "old version");
}

TEST(Isolated, EndsWithTheErrorOfWhoListens) {
  const auto endless = [](const IsolatedSend& send) -> Result<> {
    while (send(std::string(4096, 'x'))) {
    }
    return ok();
  };
  const auto done = run_isolated(
      kLimits, endless, [](std::string_view) -> Result<> { return Error(Code::not_found, "enough"); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), "enough");
  const auto longer = ask(endless);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code(), Code::limit);
}

TEST(Isolated, SurvivesWhatTheChildDoesNot) {
  const auto crash = ask([](const IsolatedSend&) -> Result<> {
    std::raise(SIGSEGV);
    return ok();
  });
  ASSERT_FALSE(crash);
  EXPECT_EQ(crash.error().code(), Code::corrupt);

  const auto endless = ask([](const IsolatedSend&) -> Result<> {
    for (std::atomic<int> i = 0;; ++i) {
    }
  });
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code(), Code::corrupt);

  const auto longer = ask([](const IsolatedSend& send) -> Result<> {
    send(std::string(2 << 20, 'x'));
    return ok();
  });
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code(), Code::limit);
}

TEST(Isolated, MemoryIsLimited) {
  const auto reply = ask([](const IsolatedSend& send) -> Result<> {
    const std::unique_ptr<std::byte[]> much(new (std::nothrow) std::byte[std::size_t{1} << 30]);
    send(much ? "granted" : "refused");
    return ok();
  });
  if (reply) {  // a sanitizer's allocator ends the child instead
    EXPECT_EQ(*reply, "refused");
  }
}

}  // namespace
}  // namespace opdump
