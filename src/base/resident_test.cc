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

}  // namespace
}  // namespace opdump
