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

std::vector<std::size_t> everywhere(std::size_t count) {
  std::vector<std::size_t> places(count);
  std::iota(places.begin(), places.end(), 0);
  return places;
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
  EXPECT_EQ(index.find_part(elements({2, 3}), everywhere(2)), 1u);
  EXPECT_EQ(index.find_part(elements({1, 2, 3, 5}), everywhere(4)), 1u);
  EXPECT_EQ(index.find_part(elements({1, 8, 9, 7}), everywhere(4)), std::nullopt);
  EXPECT_EQ(index.find_part(elements({8, 6}), std::vector<std::size_t>{1}), 2u);  // only where it differs
}

}  // namespace
}  // namespace opdump::compare
