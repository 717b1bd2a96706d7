#include "math/layout/box_copy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "base/file/scratch.h"
#include "math/layout/strided_copy.h"

namespace opdump::math {
namespace {

constexpr std::size_t kFilled = 1 << 20;

// A large file with something at its start.
class LargeFile {
 public:
  LargeFile() : path_(std::filesystem::temp_directory_path() / ("opdump_box" + std::to_string(::getpid()))) {
    std::string bytes(kFilled, '\0');
    std::mt19937 random(1);
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_TRUE(write_file_atomic(path_, bytes, 0600));
    std::filesystem::resize_file(path_, 80 << 20);
  }
  ~LargeFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Loops over dimensions that lie in any order in the source, with holes between them.
CopyBox random_box(std::mt19937& random, std::size_t element_bytes) {
  const auto pick = [&](int first, int last) { return std::uniform_int_distribution(first, last)(random); };
  CopyBox box;
  box.count = static_cast<std::size_t>(pick(0, 5));
  auto step = static_cast<std::ptrdiff_t>(element_bytes);
  for (std::size_t i = box.count; i-- > 0; step *= box.loops[i].extent) box.loops[i] = {pick(1, 7), 0, step};
  std::vector<std::size_t> order(box.count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random);
  step = static_cast<std::ptrdiff_t>(element_bytes);
  for (const std::size_t i : order) {
    box.loops[i].from = step;
    step *= box.loops[i].extent + pick(0, 1);
  }
  return box;
}

TEST(BoxCopy, StagedBoxesAreTheSame) {
  const LargeFile file;
  const auto mapped = MappedFile::open(file.path());
  ASSERT_TRUE(mapped);
  const auto reader = MappingFile::find(mapped->bytes().subspan(100));
  ASSERT_TRUE(reader);
  std::mt19937 random(2);
  for (int i = 0; i < 500; ++i) {
    const std::size_t size = std::size_t{1} << random() % 5;
    CopyBox box = random_box(random, size);
    std::size_t bytes = size;
    for (std::size_t k = 0; k < box.count; ++k) bytes *= static_cast<std::size_t>(box.loops[k].extent);
    std::vector<std::byte> expected(bytes), staging(bytes), made(bytes);
    const std::byte* const from = mapped->bytes().data() + random() % 1000;
    copy_box(size, box, from, expected.data(), 1);
    stage_box(size, box, from, staging.data(), *reader);
    copy_box(size, box, staging.data(), made.data(), 1);
    ASSERT_EQ(made, expected) << i;
  }
}

TEST(BoxCopy, BoxesAreTheSameBetweenFiles) {
  const LargeFile file;
  const auto mapped = MappedFile::open(file.path());
  const auto scratch = Scratch::make(80 << 20);
  ASSERT_TRUE(mapped && scratch && scratch->is_mapped());
  const auto reader = MappingFile::find(mapped->bytes()), writer = MappingFile::find(scratch->bytes());
  ASSERT_TRUE(reader && writer);
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    const std::size_t size = std::size_t{1} << random() % 5;
    CopyBox box = random_box(random, size);
    std::size_t bytes = size;
    for (std::size_t k = 0; k < box.count; ++k) {
      bytes *= static_cast<std::size_t>(box.loops[k].extent);
      box.loops[k].to *= 1 + i % 2;  // gaps
    }
    std::vector<std::byte> expected(2 * bytes), made(2 * bytes), buffer(2 * bytes);
    const std::byte* const from = mapped->bytes().data() + random() % 1000;
    std::byte* const to = scratch->data() + random() % 1000;
    std::memset(to, 0, made.size());
    copy_box(size, box, from, expected.data(), 1);
    copy_box_between(size, box, from, to, i % 3 != 0 ? reader : std::nullopt, writer, buffer);
    std::memcpy(made.data(), to, made.size());
    ASSERT_EQ(made, expected) << i;
  }
}

TEST(BoxCopy, ReadersAreForLargeMappingsOnly) {
  const std::vector<std::byte> memory(10);
  EXPECT_FALSE(MappingFile::find(memory));
}

// Columns that become rows, block by block.
TEST(BoxCopy, LargeTensorsAreCopiedLikeSmallOnes) {
  constexpr std::int64_t kRows = 3, kColumns = 7001, kDepth = 1601;
  std::vector<std::uint16_t> from(kRows * kColumns * kDepth), to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint16_t>(i * 40503 >> 3);
  model::TensorView view{model::DType::uint16,
                         {kRows, kColumns, kDepth},
                         {1, kRows, kRows * kColumns},
                         reinterpret_cast<const std::byte*>(from.data())};
  ASSERT_GT(view.byte_count(), 64u << 20);
  copy_row_major(view, std::as_writable_bytes(std::span(to)));
  const auto scratch = Scratch::make(view.byte_count());
  ASSERT_TRUE(scratch && scratch->is_mapped());
  copy_row_major(view, scratch->bytes());
  EXPECT_EQ(std::memcmp(scratch->data(), to.data(), view.byte_count()), 0);
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t j = 0; j < kColumns; ++j)
      for (std::int64_t k = 0; k < kDepth; ++k)
        ASSERT_EQ(to[static_cast<std::size_t>((i * kColumns + j) * kDepth + k)],
                  from[static_cast<std::size_t>(i + kRows * (j + kColumns * k))]);
}

}  // namespace
}  // namespace opdump::math
