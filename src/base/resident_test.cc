#include "base/resident.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"

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

TEST(Resident, WalkedPagesAreGivenBackAndComeAgain) {
  const auto path = std::filesystem::temp_directory_path() / ("resident" + std::to_string(::getpid()));
  ASSERT_TRUE(write_file_atomic(path, std::string(8 << 20, 'x'), 0600));
  {
    const auto mapped = MappedFile::open(path);
    ASSERT_TRUE(mapped);
    const auto sum = [&] {
      std::size_t all = 0;
      for (const std::byte byte : mapped->bytes()) all += std::to_integer<std::size_t>(byte);
      return all;
    };
    const std::size_t whole = sum();
    EXPECT_GT(resident_pages(mapped->bytes()), 0u);
    note_walk(kResidentBytes - 1);
    EXPECT_GT(resident_pages(mapped->bytes()), 0u);
    note_walk(1);
    EXPECT_EQ(resident_pages(mapped->bytes()), 0u);
    EXPECT_EQ(sum(), whole);
  }
  note_walk(kResidentBytes);  // nothing is mapped
  std::filesystem::remove(path);
}

TEST(Resident, OfPagesThatAreTouchedManyAreGivenBack) {
  const auto path = std::filesystem::temp_directory_path() / ("touched" + std::to_string(::getpid()));
  ASSERT_TRUE(write_file_atomic(path, "x", 0600));
  constexpr std::size_t kPage = 4096;
  std::filesystem::resize_file(path, 3 * kResidentBytes);
  {
    const auto mapped = MappedFile::open(path);
    ASSERT_TRUE(mapped);
    std::size_t most = 0, sum = 0;
    const auto touch = [&](std::size_t at) {
      sum += std::to_integer<std::size_t>(mapped->bytes()[at]);
      note_touch(mapped->bytes().data() + at);
      if (at % (4 << 20) == 0) most = std::max(most, resident_pages(mapped->bytes()));
    };
    for (std::size_t at = 0; at < mapped->bytes().size(); at += kPage) touch(at);
    constexpr std::size_t kFar = 5 << 20;
    for (std::size_t begin = 0; begin < kFar; begin += kPage)
      for (std::size_t at = begin; at < mapped->bytes().size(); at += kFar) touch(at);
    EXPECT_EQ(sum, 2U * 'x');
    EXPECT_LT(most * kPage, 2 * kResidentBytes);
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace opdump
