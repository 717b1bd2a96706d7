#include "msaccucmp/judge/overflow.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace opdump::msaccucmp {
namespace {

constexpr std::uint16_t kOne = 0x3c00, kMost = 0x7bff, kInfinity = 0x7c00, kNan = 0x7e00;

std::string overflow_of(const std::vector<std::uint16_t>& halves,
                        model::DType dtype = model::DType::float16) {
  DumpedTensor tensor;
  tensor.data = {dtype,
                 {static_cast<std::int64_t>(halves.size())},
                 reinterpret_cast<const std::byte*>(halves.data()),
                 nullptr};
  return msaccucmp::overflow_of(tensor);
}

TEST(Overflow, IsTheLargestHalf) {
  EXPECT_EQ(overflow_of({kOne, kOne}), "NO");
  EXPECT_EQ(overflow_of({kOne, kMost}), "YES");
  EXPECT_EQ(overflow_of({kOne, kMost | 0x8000}), "YES");
  EXPECT_EQ(overflow_of({kInfinity}), "YES");
  EXPECT_EQ(overflow_of({}), "NO");
}

TEST(Overflow, IsHiddenByNan) {
  EXPECT_EQ(overflow_of({kMost, kNan}), "NO");
  std::vector<std::uint16_t> many(10000, kOne);
  many[5000] = kInfinity;
  EXPECT_EQ(overflow_of(many), "YES");
  many[9999] = kNan;
  EXPECT_EQ(overflow_of(many), "NO");
}

TEST(Overflow, IsForHalvesOnly) { EXPECT_EQ(overflow_of({kMost}, model::DType::bfloat16), "NaN"); }

}  // namespace
}  // namespace opdump::msaccucmp
