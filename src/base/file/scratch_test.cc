#include "base/file/scratch.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/file/resident.h"

namespace opdump {
namespace {

bool is_zero(const Scratch& scratch) {
  return std::ranges::all_of(scratch.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

// Memory of the process that is in no file, in bytes.
std::uint64_t own_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) << 10;
}

TEST(Scratch, ZerosThatCanBeWritten) {
  EXPECT_FALSE(Scratch());
  for (const auto sharing : {Scratch::Sharing::none, Scratch::Sharing::children})
    for (const std::uint64_t bytes :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{5000}, kScratchHeldBytes + 1}) {
      auto scratch = Scratch::make(bytes, sharing);
      ASSERT_TRUE(scratch) << scratch.error().message();
      ASSERT_EQ(scratch->bytes().size(), bytes);
      EXPECT_EQ(static_cast<bool>(*scratch), bytes > 0);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scratch->data()) % 16, 0u);
      EXPECT_TRUE(is_zero(*scratch));
      std::ranges::fill(scratch->bytes(), std::byte{7});
      const Scratch moved = std::move(*scratch);
      EXPECT_EQ(std::ranges::count(moved.bytes(), std::byte{7}), static_cast<std::ptrdiff_t>(bytes));
    }
}

TEST(Scratch, LargeOnesNeedNoMemory) {
  const std::uint64_t before = own_bytes();
  std::vector<Scratch> all;
  for (int i = 0; i < 8; ++i) {
    auto scratch = Scratch::make(kScratchHeldBytes);  // the first is held, the others lie in files
    ASSERT_TRUE(scratch) << scratch.error().message();
    for (std::uint64_t at = 0; at < kScratchHeldBytes; at += 1 << 20)
      std::ranges::fill(scratch->bytes().subspan(at, 1 << 20), static_cast<std::byte>(i + 1));
    all.push_back(std::move(*scratch));
  }
  EXPECT_LT(own_bytes(), before + kScratchHeldBytes + kResidentBytes + (64 << 20));
  for (int i = 0; i < 8; ++i)
    for (std::uint64_t at = 0; at < kScratchHeldBytes; at += 4095)
      ASSERT_EQ(all[static_cast<std::size_t>(i)].data()[at], static_cast<std::byte>(i + 1));
}

TEST(Scratch, ChildrenWriteToSharedOnes) {
  for (const std::uint64_t bytes : {std::uint64_t{100}, kScratchHeldBytes + 100}) {
    const auto scratch = Scratch::make(bytes, Scratch::Sharing::children);
    ASSERT_TRUE(scratch) << scratch.error().message();
    const pid_t child = ::fork();
    if (child == 0) {
      scratch->data()[bytes - 1] = std::byte{9};
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(scratch->data()[bytes - 1], std::byte{9});
  }
}

TEST(Scratch, NoRoomIsAnError) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = kScratchHeldBytes;
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto scratch = Scratch::make(kScratchHeldBytes + 1);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(scratch);
  EXPECT_EQ(scratch.error().code(), Code::io);
  EXPECT_NE(scratch.error().message().find("TMPDIR"), std::string::npos);
  const auto endless = Scratch::make(UINT64_MAX);
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code(), Code::io);
}

TEST(Scratch, TheDirectoryCanBeChosen) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/nowhere/at/all", 1);
  const auto scratch = Scratch::make(kScratchHeldBytes + 1);
  const auto small = Scratch::make(10);
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
  ASSERT_FALSE(scratch);
  EXPECT_NE(scratch.error().message().find("/nowhere/at/all"), std::string::npos);
  EXPECT_TRUE(small);
}

}  // namespace
}  // namespace opdump
