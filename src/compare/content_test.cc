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

// Of float32, as a .npy file.
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
  std::string folder_ = testing::TempDir() + "contentXXXXXX";
};

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

TEST_F(ContentFiles, AFileIsReadOnceWhateverItsName) {
  dump::Slot output = write_slot(folder_ + "/output.npy", {1, 2, 3}), input = output;
  const dump::Slot other = write_slot(folder_ + "/other.npy", {4, 5});
  output.linked = input.linked = {1, 2};
  input.file = folder_ + "/no file has this name";
  const dump::Slot* slots[] = {&output, &other};
  Fingerprints prints;
  prints.prepare(slots, 2);
  std::filesystem::remove(other.file);
  EXPECT_EQ(prints.of(input), fingerprint_of(elements({1, 2, 3})));
  EXPECT_EQ(prints.of(other), fingerprint_of(elements({4, 5})));
  EXPECT_EQ(prints.of(dump::Slot()), std::nullopt);
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

TEST(Content, OutputsAreLoadedWhereAPartIsLookedForAndItIsKnownAfterwards) {
  ContentIndex index;
  int loaded = 0;
  for (const float first : {1.0f, 11.0f})
    index.add(static_cast<std::uint32_t>(first), fingerprint_of(elements({first, first + 1, first + 2})),
              [&loaded, first] {
                ++loaded;
                return elements({first, first + 1, first + 2});
              });
  EXPECT_EQ(find(index, {1, 2, 3}), 1u);
  EXPECT_EQ(loaded, 0);
  EXPECT_EQ(index.find_part(elements({12, 13}), {}), 11u);
  EXPECT_EQ(loaded, 1);
  EXPECT_EQ(index.find_known_part(fingerprint_of(elements({13, 12}))), 11u);
  EXPECT_EQ(index.find_known_part(fingerprint_of(elements({2, 3}))), std::nullopt);
  EXPECT_EQ(index.find_part(elements({2, 3}), {}), 1u);
  EXPECT_EQ(index.find_part(elements({1, 2}), {}), 1u);
  EXPECT_EQ(loaded, 2);
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
