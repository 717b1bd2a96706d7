#include "compare/content.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>

namespace opdump::compare {
namespace {

std::vector<std::uint64_t> elements(const std::vector<float>& values) {
  return hash_elements(model::TensorView::row_major(
      model::DType::float32, {static_cast<std::int64_t>(values.size())}, values.data()));
}

std::optional<std::uint32_t> find(const ContentIndex& index, const std::vector<float>& values) {
  return index.find(fingerprint_of(elements(values)));
}

TEST(Content, ATransposedCopyHasTheSameFingerprint) {
  EXPECT_EQ(fingerprint_of(elements({1, 2, 3, 4})), fingerprint_of(elements({1, 3, 2, 4})));
  EXPECT_FALSE(fingerprint_of(elements({1, 2, 3, 4})) == fingerprint_of(elements({1, 2, 3, 5})));
  EXPECT_FALSE(fingerprint_of(elements({0, 0})) == fingerprint_of(elements({0, 0, 0})));
}

TEST(Content, TheLastOperatorThatMadeATensorIsItsProducer) {
  ContentIndex index;
  index.add(1, elements({1, 2, 3}));
  index.add(2, elements({4, 5, 6}));
  index.add(3, elements({3, 2, 1}));
  EXPECT_EQ(find(index, {1, 2, 3}), 3u);
  EXPECT_EQ(find(index, {4, 5, 6}), 2u);
  EXPECT_EQ(find(index, {7, 8, 9}), std::nullopt);
}

TEST(Content, ATensorHasMostElementsOfItsParts) {
  std::string folder = testing::TempDir() + "contentXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/whole.npy";
  std::vector<float> values(40);
  std::iota(values.begin(), values.end(), 1.0f);
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 10), }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header;
  file.write(reinterpret_cast<const char*>(values.data()), 160);
  file.close();
  dump::Slot slot;
  slot.dtype = model::DType::float32;
  slot.file = path;
  const auto has = [&](const std::vector<float>& part) {
    const auto hashes = elements(part);
    return has_most(slot, {hashes.begin(), hashes.end()});
  };
  EXPECT_TRUE(has({11, 12, 13, 14, 15, 16, 17, 18, 19, 20}));
  EXPECT_TRUE(has({11, 12, 13, 14, 15, 16, 17, 18, 19, 99}));
  EXPECT_FALSE(has({11, 12, 13, 14, 15, 16, 17, 18, 98, 99}));
  EXPECT_FALSE(has({1, 2, 3}));  // of so few elements, many tensors have all
  slot.file = folder + "/none.npy";
  EXPECT_FALSE(has({11, 12, 13, 14, 15, 16, 17, 18, 19, 20}));
  std::filesystem::remove_all(folder);
}

TEST(Content, SlicesAndMixturesComeFromTheOperatorOfMostElements) {
  ContentIndex index;
  index.add(1, elements({1, 2, 3, 4}));
  index.add(2, elements({5, 6}));
  EXPECT_EQ(index.find_part(elements({2, 3}), {}), 1u);
  EXPECT_EQ(index.find_part(elements({1, 2, 3, 5}), {}), 1u);
  EXPECT_EQ(index.find_part(elements({1, 8, 9, 7}), {}), std::nullopt);
  EXPECT_EQ(index.find_part(elements({8, 6}), elements({8, 5})), 2u);  // only where it differs
}

TEST(Content, SlicesOfOldOutputsAreFound) {
  const auto numbers = [](float first, std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
  };
  ContentIndex index;
  index.add(1, elements(numbers(1, 4000)));
  index.add(2, elements(numbers(5000, 4000)));
  index.add(3, std::vector<std::uint64_t>((1 << 24) - 1, 1));
  EXPECT_EQ(index.find_part(elements(numbers(1000, 2000)), {}), 1u);
  EXPECT_EQ(index.find_part(elements(numbers(6000, 2000)), elements(numbers(6001, 2000))), 2u);
  EXPECT_EQ(index.find_part(elements(numbers(10000, 2000)), {}), std::nullopt);
  EXPECT_EQ(index.find_part(elements(numbers(1000, 20)), {}), std::nullopt);  // too few
}

}  // namespace
}  // namespace opdump::compare
