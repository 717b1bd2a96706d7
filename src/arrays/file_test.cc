#include "arrays/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "arrays/text.h"
#include "base/file/file.h"

namespace opdump::arrays {
namespace {

using model::DType;
using testing::EndsWith;
using testing::HasSubstr;

class ArrayFiles : public testing::Test {
 protected:
  ~ArrayFiles() override { std::filesystem::remove(path_); }
  template <typename T, std::size_t N>
  static Array array_of(DType dtype, model::Shape shape, const std::array<T, N>& values) {
    return {dtype, std::move(shape), make_pieces({dtype, N, std::as_bytes(std::span(values)), {}, false})};
  }
  std::string written() const {
    auto text = read_file(path_, 1 << 20);
    EXPECT_TRUE(text);
    return text ? *text : "";
  }
  template <typename T, std::size_t N>
  static std::string bytes_of(const std::array<T, N>& values) {
    return {reinterpret_cast<const char*>(values.data()), sizeof values};
  }
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("opdump_array_" + std::to_string(::getpid()));
};

TEST_F(ArrayFiles, TextIsThatOfSavetxt) {
  const std::array<double, 3> values = {1.5, std::nan(""), -INFINITY};
  Array array = array_of(DType::float64, {3}, values);
  ASSERT_TRUE(write_text(array, path_, 1));
  EXPECT_EQ(written(), "1.500000000000000000e+00\nnan\n-inf\n");
}

TEST_F(ArrayFiles, TextOfComplexNumbers) {
  const std::array<float, 2> parts = {1.5F, -2};
  Array array{
      DType::complex64, {1}, make_pieces({DType::complex64, 1, std::as_bytes(std::span(parts)), {}, false})};
  ASSERT_TRUE(write_text(array, path_, 1));
  EXPECT_EQ(written(), " (1.500000000000000000e+00-2.000000000000000000e+00j)\n");
}

TEST_F(ArrayFiles, NpyInColumnOrder) {
  const std::array<std::int16_t, 6> values = {1, 4, 2, 5, 3, 6};
  Array array = array_of(DType::int16, {2, 3}, values);
  ASSERT_TRUE(write_npy(array, true, path_));
  EXPECT_THAT(written(), HasSubstr("'fortran_order': True, 'shape': (2, 3), }"));
  EXPECT_THAT(written(), EndsWith("\n" + bytes_of(values)));
  EXPECT_EQ((written().size() - sizeof values) % 64, 0U);
}

TEST_F(ArrayFiles, SmallFloatsBecomeDoubles) {
  const std::array<std::uint8_t, 2> hif8 = {0, 0};
  Array array{file_dtype(DType::hifloat8),
              {2},
              make_pieces({DType::hifloat8, 2, std::as_bytes(std::span(hif8)), {}, false})};
  EXPECT_EQ(array.dtype, DType::float64);
  ASSERT_TRUE(write_elements(array, path_));
  EXPECT_EQ(written(), std::string(16, '\0'));
}

TEST_F(ArrayFiles, TorchHasNoUint64) {
  const std::array<std::uint64_t, 1> values = {1};
  Array array = array_of(DType::uint64, {1}, values);
  const auto refused = write_torch(array, path_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// NC1HWC0 (1,1,1,2,4) holds NCHW (1,3,1,2) with a fourth channel of padding.
TEST_F(ArrayFiles, AChangeOfLayoutCutsThePadding) {
  const std::array<float, 8> stored = {0, 2, 4, -1, 1, 3, 5, -1};
  const LayoutChange change{
      model::Format::nc1hwc0, model::Format::nchw, {1, 1, 1, 2, 4}, {1, 4, 1, 2}, {1, 3, 1, 2}};
  auto pieces = change_layout({DType::float32, 8, std::as_bytes(std::span(stored)), {}, false}, change, 1);
  ASSERT_TRUE(pieces) << pieces.error().message();
  Array array{DType::float32, {1, 3, 1, 2}, std::move(*pieces)};
  ASSERT_TRUE(write_elements(array, path_));
  EXPECT_EQ(written(), bytes_of(std::array<float, 6>{0, 1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace opdump::arrays
