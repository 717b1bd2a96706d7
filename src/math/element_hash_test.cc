#include "math/element_hash.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <set>
#include <vector>

#include "math/simd_targets.h"

namespace opdump::math {
namespace {

using model::DType;
using model::TensorView;

// What the first version of this file made: results of other machines and versions are compared with them.
std::uint64_t finalise(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::uint64_t expected(const std::byte* at, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, size);
  return finalise(bits ^ finalise(size));
}

TEST(ElementHash, IsTheSameOnAllMachinesForAllSizes) {
  std::vector<std::byte> bytes(16 * 1003 + 1);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 256);
  for (const DType dtype :
       {DType::uint8, DType::float16, DType::float32, DType::int64, DType::complex64, DType::complex128}) {
    const std::size_t parts = model::dtype_info(dtype).kind == model::DTypeKind::complex ? 2 : 1;
    const std::size_t size = model::dtype_info(dtype).bits / 8 / parts;
    for (const std::size_t numbers : {0, 1, 7, 8, 9, 64, 1003}) {
      const auto view = TensorView::row_major(dtype, {static_cast<std::int64_t>(numbers)},
                                              bytes.data() + 1);  // not aligned
      const std::size_t count = numbers * parts;
      ASSERT_EQ(hashed_count(view), count);
      for (std::int64_t targets = simd_targets(), rest = targets;; rest &= rest - 1) {
        choose_targets(rest & -rest);
        std::vector<std::uint64_t> hashes(count);
        hash_elements(view, 0, hashes);
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < hashes.size(); ++i) {
          ASSERT_EQ(hashes[i], expected(view.data + i * size, size)) << size << " " << i;
          sum += hashes[i];
        }
        EXPECT_EQ(sum_of_hashes(view), sum);
        choose_targets(0);
        if (rest == 0) break;
      }
    }
  }
}

TEST(ElementHash, BeginsAnywhere) {
  std::vector<float> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 0.5f);
  const auto view = TensorView::row_major(DType::float32, {100}, numbers.data());
  std::vector<std::uint64_t> all(100), some(20);
  hash_elements(view, 0, all);
  hash_elements(view, 31, some);
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + 31));
  EXPECT_EQ(std::set<std::uint64_t>(all.begin(), all.end()).size(), 100u);
}

TEST(ElementHash, GoesBeyondABlock) {
  const std::vector<std::uint16_t> same(1'000'003, 5);
  const auto view = TensorView::row_major(DType::uint16, {1'000'003}, same.data());
  std::vector<std::uint64_t> one(1);
  hash_elements(view, 7, one);
  EXPECT_EQ(sum_of_hashes(view), one.front() * 1'000'003);
}

TEST(ElementHash, SmallTypesAreHashedByTheByte) {
  const std::vector<std::uint8_t> bytes{0x12, 0x34};
  const auto view = TensorView::row_major(DType::int4, {4}, bytes.data());
  EXPECT_EQ(hashed_count(view), 2u);
}

}  // namespace
}  // namespace opdump::math
