#include "base/spill.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file_replacement.h"

namespace opdump {
namespace {

std::string bytes_of(const Spill& spill, std::uint64_t at, std::size_t count) {
  std::string bytes(count, '\0');
  EXPECT_TRUE(spill.read(at, bytes));
  return bytes;
}

// More than is kept in memory, each byte told by its place.
void fill(Spill& spill, std::uint64_t pieces) {
  for (std::uint64_t i = 0; i < pieces; ++i) spill.append(std::string(1000, static_cast<char>('a' + i % 26)));
}

TEST(Spill, GivesBackWhatItWasGiven) {
  Spill spill;
  fill(spill, 10000);
  EXPECT_EQ(spill.size(), 10000000U);
  EXPECT_EQ(bytes_of(spill, 0, 3), "aaa");
  EXPECT_EQ(bytes_of(spill, 26998, 4), "aabb");
  EXPECT_EQ(bytes_of(spill, 9999999, 1), std::string(1, 'a' + 9999 % 26));
  const std::string all = bytes_of(spill, 0, 10000000);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<char>('a' + i / 1000 % 26)) << i;
}

TEST(Spill, KeepsInMemoryWhatHasNoPlace) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/nowhere", 1);
  Spill spill;
  fill(spill, 5000);
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_EQ(bytes_of(spill, 4999000, 1000), std::string(1000, 'a' + 4999 % 26));
}

TEST(FileReplacement, ReplacesWhenItIsWhole) {
  const std::string path = testing::TempDir() + "replaced";
  ASSERT_TRUE(write_file_atomic(path, "old", 0600));
  {
    auto file = FileReplacement::begin(path, 0600);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->append("lost"));
  }
  EXPECT_EQ(*read_file(path, 100), "old");
  auto file = FileReplacement::begin(path, 0600);
  ASSERT_TRUE(file && file->append("ne") && file->append("w") && file->finish());
  EXPECT_EQ(*read_file(path, 100), "new");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace opdump
