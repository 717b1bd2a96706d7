#include "base/file/resident.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/file/file.h"
#include "base/file/file_replacement.h"

namespace opdump {
namespace {

// Pages of the mapping that this process has.
std::size_t resident_pages(std::span<const std::byte> mapped) {
  const Fd map(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<std::uint64_t> entries(mapped.size() / page);
  const auto first = reinterpret_cast<std::uintptr_t>(mapped.data()) / page * sizeof(std::uint64_t);
  const auto size = static_cast<ssize_t>(entries.size() * sizeof entries[0]);
  EXPECT_EQ(::pread(map.get(), entries.data(), static_cast<std::size_t>(size), static_cast<off_t>(first)),
            size);
  return static_cast<std::size_t>(
      std::ranges::count_if(entries, [](std::uint64_t entry) { return entry >> 63 != 0; }));
}

// A sparse file with an 'x' in front.
class ResidentTest : public ::testing::Test {
 protected:
  ResidentTest() {
    EXPECT_TRUE(write_file_atomic(path_, "x", 0600));
    std::filesystem::resize_file(path_, 4 * kResidentBytes);
  }
  ~ResidentTest() override { std::filesystem::remove(path_); }

  static constexpr std::size_t kPage = 4096;
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("resident" + std::to_string(::getpid()));
};

TEST_F(ResidentTest, PagesAreGivenBackAndComeAgain) {
  const auto mapped = MappedFile::open(path_);
  ASSERT_TRUE(mapped);
  std::size_t sum = 0;
  const auto touch = [&](std::size_t at) { sum += std::to_integer<std::size_t>(mapped->bytes()[at]); };
  for (std::size_t at = 0; at < mapped->bytes().size(); at += kPage) touch(at);
  constexpr std::size_t kFar = 5 << 20;
  for (std::size_t begin = 0; begin < kFar; begin += kPage)
    for (std::size_t at = begin; at < mapped->bytes().size(); at += kFar) touch(at);
  EXPECT_EQ(sum, 2U * 'x');
  // Beside them the process may have kResidentBytes of libraries, which are counted whether it has them or
  // not. On a busy machine the thread wakes late, but it wakes.
  constexpr std::size_t kMost = 2 * kResidentBytes;
  std::size_t resident = 0;
  for (int i = 0; i < 3000 && (resident = resident_pages(mapped->bytes()) * kPage) > kMost; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LE(resident, kMost);
}

TEST_F(ResidentTest, HolesOfAFileAreKnown) {
  constexpr std::size_t kAt = 2 * kResidentBytes;
  {
    const Fd file(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::pwrite(file.get(), "y", 1, kAt), 1);
  }
  const auto mapped = MappedFile::open(path_);
  ASSERT_TRUE(mapped);
  const auto file = MappingFile::find(mapped->bytes());
  ASSERT_TRUE(file);
  const auto is_stored = [&](std::size_t at, std::span<const std::byte> in) {
    return std::ranges::any_of(file->stored_parts(in), [&](std::span<const std::byte> part) {
      return part.data() <= mapped->bytes().data() + at &&
             mapped->bytes().data() + at < part.data() + part.size();
    });
  };
  EXPECT_TRUE(is_stored(0, mapped->bytes()));
  EXPECT_TRUE(is_stored(kAt, mapped->bytes()));
  EXPECT_TRUE(is_stored(kAt, mapped->bytes().subspan(kAt, 1)));
  EXPECT_FALSE(is_stored(kAt, mapped->bytes().first(kAt)));
  std::size_t stored = 0;
  for (const auto& part : file->stored_parts(mapped->bytes())) stored += part.size();
  struct ::stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  if (static_cast<std::size_t>(status.st_blocks) * 512 < kResidentBytes) {
    EXPECT_LT(stored, kResidentBytes);  // the file system makes holes
  }
}

TEST_F(ResidentTest, AChildOfTheProcessWatchesItsOwn) {
  const auto mapped = MappedFile::open(path_);
  ASSERT_TRUE(mapped);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto again = MappedFile::open(path_);  // would wait for ever for a lock that another thread had
    ::_exit(again && again->bytes().front() == std::byte{'x'} ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace opdump
