#include "compare/wiring/content.h"

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

TEST(Content, ATransposedCopyHasTheSameFingerprint) {
  EXPECT_EQ(fingerprint_of(elements({1, 2, 3, 4})), fingerprint_of(elements({1, 3, 2, 4})));
  EXPECT_FALSE(fingerprint_of(elements({1, 2, 3, 4})) == fingerprint_of(elements({1, 2, 3, 5})));
  EXPECT_FALSE(fingerprint_of(elements({0, 0})) == fingerprint_of(elements({0, 0, 0})));
}

// Writes a slot of float32 as a .npy file.
dump::Slot write_slot(const std::string& path, const std::vector<float>& values) {
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(values.size()) + ",), }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header;
  file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(4 * values.size()));
  dump::Slot slot;
  slot.dtype = model::DType::float32;
  slot.file = path;
  return slot;
}

class ContentFiles : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::optional<std::uint32_t> find(ContentIndex& index, const std::vector<float>& values,
                                    double norm = ContentIndex::kUnknown) const {
    return index.find(write_slot(folder_ + "/" + std::to_string(values.front()) + ".npy", values), norm);
  }
  std::string folder_ = testing::TempDir() + "contentXXXXXX";
};

TEST_F(ContentFiles, TheLastOperatorThatMadeATensorIsItsProducer) {
  ContentIndex index;
  index.add(1, elements({1, 2, 3}));
  index.add(2, elements({4, 5, 6}));
  index.add(3, elements({3, 2, 1}));
  EXPECT_EQ(find(index, {1, 2, 3}), 3u);
  EXPECT_EQ(find(index, {4, 5, 6}), 2u);
  EXPECT_EQ(find(index, {7, 8, 9}), std::nullopt);
}

TEST_F(ContentFiles, OnlyOutputsOfTheSameNormAreRead) {
  const dump::Slot first = write_slot(folder_ + "/first.npy", {3, 4}),
                   second = write_slot(folder_ + "/second.npy", {6, 8});
  ContentIndex index;
  index.add(1, first, 5);
  index.add(2, second, 10);
  std::filesystem::remove(second.file);
  EXPECT_EQ(find(index, {4, 3}, 5.0000001), 1u);
  EXPECT_EQ(find(index, {8, 6}, 10), std::nullopt);  // the file is gone
  EXPECT_EQ(find(index, {3, 4}, 6), std::nullopt);   // would be the first one's
  EXPECT_EQ(find(index, {4, 3}), 1u);
}

TEST_F(ContentFiles, ATensorHasMostElementsOfItsParts) {
  std::vector<float> values(40);
  std::iota(values.begin(), values.end(), 1.0f);
  dump::Slot slot = write_slot(folder_ + "/whole.npy", values);
  const auto has = [&](const std::vector<float>& part) {
    const auto hashes = elements(part);
    return has_most(slot, {hashes.begin(), hashes.end()});
  };
  EXPECT_TRUE(has({11, 12, 13, 14, 15, 16, 17, 18, 19, 20}));
  EXPECT_TRUE(has({11, 12, 13, 14, 15, 16, 17, 18, 19, 99}));
  EXPECT_FALSE(has({11, 12, 13, 14, 15, 16, 17, 18, 98, 99}));
  EXPECT_FALSE(has({1, 2, 3}));  // of so few elements, many tensors have all
  slot.file = folder_ + "/none.npy";
  EXPECT_FALSE(has({11, 12, 13, 14, 15, 16, 17, 18, 19, 20}));
}

TEST_F(ContentFiles, TheOperatorThatMadeAFileIsKnownWithoutItsElements) {
  dump::Slot output = write_slot(folder_ + "/output.npy", {1, 2, 3}), input = output;
  output.linked = input.linked = {1, 2};
  output.shape = input.shape = model::Shape{3};
  dump::Slot copy = write_slot(folder_ + "/copy.npy", {3, 2, 1}),
             other = write_slot(folder_ + "/other.npy", {4, 5, 6});
  ContentIndex index(2);
  index.add(1, output);
  index.add(2, copy);
  index.add(3, dump::Slot());
  std::filesystem::rename(output.file, folder_ + "/moved.npy");
  input.file = folder_ + "/no file has this name";
  EXPECT_EQ(index.find(input), 1u);
  EXPECT_EQ(index.find(other), std::nullopt);
  EXPECT_EQ(index.find(dump::Slot()), std::nullopt);
}

TEST_F(ContentFiles, OtherFilesAreKnownByTheirElements) {
  dump::Slot output = write_slot(folder_ + "/output.npy", {1, 2, 3}),
             copy = write_slot(folder_ + "/copy.npy", {1, 2, 3});
  const dump::Slot input = write_slot(folder_ + "/input.npy", {3, 2, 1});
  output.shape = copy.shape = model::Shape{3};
  ContentIndex index;
  index.add(1, output);
  index.add(2, copy);
  EXPECT_EQ(index.find(input), 2u);
  EXPECT_EQ(index.find(output), 1u);
  index.add(3, elements({2, 1, 3}));
  std::filesystem::remove(output.file);  // which has been read
  index.add(4, output);
  EXPECT_EQ(index.find(input), 4u);
  EXPECT_EQ(index.find_known_part(input), std::nullopt);
  const dump::Slot part = write_slot(folder_ + "/part.npy", {1, 2});
  EXPECT_EQ(index.find_part(elements({1, 2}), {}), 3u);
  EXPECT_EQ(index.find_known_part(part), 3u);
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

TEST_F(ContentFiles, OutputsAreReadWhereAPartIsLookedForAndItIsKnownAfterwards) {
  const dump::Slot first = write_slot(folder_ + "/first.npy", {1, 2, 3}),
                   second = write_slot(folder_ + "/second.npy", {11, 12, 13});
  ContentIndex index;
  index.add(1, first);
  index.add(2, second);
  EXPECT_EQ(find(index, {1, 2, 3}), 1u);
  std::filesystem::rename(first.file, folder_ + "/moved.npy");
  EXPECT_EQ(index.find_part(elements({12, 13}), {}), 2u);
  std::filesystem::rename(folder_ + "/moved.npy", first.file);
  std::filesystem::remove(second.file);
  EXPECT_EQ(index.find_part(elements({2, 3}), {}), 1u);  // of the first, which was not read before
  EXPECT_EQ(index.find_part(elements({11, 12}), {}), 2u);
  EXPECT_EQ(index.find_known_part(write_slot(folder_ + "/part.npy", {13, 12})), 2u);
  EXPECT_EQ(index.find_known_part(write_slot(folder_ + "/other.npy", {1, 2})), std::nullopt);
}

TEST(Content, OtherElementsAreThoseThatDifferAtTheirPlace) {
  EXPECT_EQ(other_elements(elements({1, 2, 3}), elements({1, 3, 3})), elements({2}));
  EXPECT_EQ(other_elements(elements({1, 2}), elements({1, 2, 3})), elements({1, 2}));
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
