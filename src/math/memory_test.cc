// Tests of what moves or names bytes without looking at their values: conversions, copies, hashes.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "math/convert.h"
#include "math/hash.h"
#include "math/layout/strided_copy.h"
#include "math/memory_walk.h"
#include "math/test_tensors.h"

namespace opdump::math {
namespace {

using model::DType;
using model::TensorView;

// The definition of IEEE binary16, in double.
double half_by_definition(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31) return mantissa ? sign * std::nan("") : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24));
}

TEST(Convert, EveryHalf) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const double expected = half_by_definition(half);
    const float actual = float_from_half(half);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(actual)) << bits;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(actual) & 0x7fffff, (bits & 0x3ff) << 13);
    } else {
      ASSERT_EQ(actual, expected) << bits;
    }
    ASSERT_EQ(std::signbit(actual), bits >> 15 != 0) << bits;
  }
}

TEST(Convert, BFloat16IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(float_from_bfloat16(0x3f80), 1.0f);
  EXPECT_EQ(float_from_bfloat16(0xc049), -3.140625f);
  EXPECT_EQ(float_from_bfloat16(0x0001), std::bit_cast<float>(0x00010000u));
  EXPECT_EQ(float_from_bfloat16(0xff80), -INFINITY);
}

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) && std::signbit(a) == std::signbit(b)
                       : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

template <typename Out>
void expect_blocks_to_be_elements(DType dtype, const std::byte* in, std::size_t count) {
  std::vector<Out> out(count + 1, Out{7.5});
  convert_elements(dtype, in, out.data(), count);
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_TRUE(same(out[i], element_as_double(dtype, in, static_cast<std::int64_t>(i)))) << i;
  EXPECT_EQ(out[count], 7.5) << "written past the end";
}

TEST(Convert, BlocksAreTheirElements) {
  std::vector<std::uint16_t> in(65536);
  std::iota(in.begin(), in.end(), 0);
  const auto* bytes = reinterpret_cast<const std::byte*>(in.data());
  for_each_instruction_set([&] {
    for (const DType dtype : kStatDTypes) {
      SCOPED_TRACE(model::dtype_info(dtype).name);
      const std::size_t all = in.size() * 16 / std::max<std::size_t>(model::dtype_info(dtype).bits, 16);
      for (std::size_t count = 0; count <= all; count = count < 70 ? count + 1 : count * 2) {
        expect_blocks_to_be_elements<double>(dtype, bytes, count);
        if (fits_float(dtype)) expect_blocks_to_be_elements<float>(dtype, bytes, count);
      }
    }
  });
  std::vector<float> widened(in.size());
  widen_bfloat16(in.data(), widened.data(), in.size());
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_TRUE(same(widened[i], float_from_bfloat16(in[i]))) << i;
}

template <typename T>
void expect_rounding_as_alone(DType dtype, const std::vector<T>& in) {
  std::vector<float> out(in.size());
  convert_elements(dtype, reinterpret_cast<const std::byte*>(in.data()), out.data(), in.size());
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_TRUE(same(out[i], static_cast<float>(in[i]))) << +in[i];
}

// Numbers at and around those in the middle of two floats, of any size.
template <typename T>
std::vector<T> integers_to_round() {
  std::vector<T> all{0, 1, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
  std::mt19937_64 random(1);
  for (int bit = 0; bit < std::numeric_limits<T>::digits; ++bit)
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t top = std::uint64_t{1} << bit, low = bit > 24 ? top >> 24 : 0;
      std::uint64_t value = (random() & (top - 1)) | top;
      if (low != 0 && i % 4 != 0) value = (value & ~(low - 1)) + (random() % 5 - 2);
      all.push_back(static_cast<T>(value));
      all.push_back(static_cast<T>(0 - value));
    }
  return all;
}

TEST(Convert, FloatsAreRoundedOnce) {
  std::vector<double> doubles{0.0, -0.0, 1e300, -1e300, 3.4028235677973366e38, 1e-46, 7e-46, HUGE_VAL};
  for (const std::int64_t value : integers_to_round<std::int64_t>())
    doubles.push_back(std::ldexp(static_cast<double>(value), static_cast<int>(value % 300)));
  for_each_instruction_set([&] {
    expect_rounding_as_alone(DType::int32, integers_to_round<std::int32_t>());
    expect_rounding_as_alone(DType::uint32, integers_to_round<std::uint32_t>());
    expect_rounding_as_alone(DType::int64, integers_to_round<std::int64_t>());
    expect_rounding_as_alone(DType::uint64, integers_to_round<std::uint64_t>());
    expect_rounding_as_alone(DType::float64, doubles);
  });
}

TEST(Convert, PackedTypes) {
  const std::byte packed[] = {std::byte{0x8f}, std::byte{0x71}};
  std::array<std::int8_t, 3> int4{};
  unpack_int4(packed, int4.data(), 3);
  EXPECT_EQ(int4, (std::array<std::int8_t, 3>{-1, -8, 1}));
  std::array<std::uint8_t, 11> uint1{};
  unpack_uint1(packed, uint1.data(), 11);
  EXPECT_EQ(uint1, (std::array<std::uint8_t, 11>{1, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1}));
  EXPECT_EQ(element_as_double(DType::int4, packed, 3), 7);
  EXPECT_EQ(element_as_double(DType::uint1, packed, 10), 1);
}

TEST(Convert, ElementsOfEveryDType) {
  const std::uint64_t large = 0xfffffffffffffffe;
  const auto* data = reinterpret_cast<const std::byte*>(&large);
  EXPECT_EQ(element_as_double(DType::uint64, data, 0), 18446744073709551614.0);
  EXPECT_EQ(element_as_double(DType::int64, data, 0), -2);
  EXPECT_EQ(element_as_double(DType::int16, data, 0), -2);
  EXPECT_EQ(element_as_double(DType::uint8, data, 1), 255);
  EXPECT_EQ(element_as_double(DType::boolean, data, 0), 1);
}

// Row by row, element by element.
std::vector<std::byte> copy_plainly(const TensorView& view) {
  const auto size = static_cast<std::int64_t>(model::dtype_info(view.dtype).bits / 8);
  std::vector<std::byte> out;
  for (std::uint64_t i = 0; i < view.element_count(); ++i) {
    std::int64_t offset = 0, rest = static_cast<std::int64_t>(i);
    for (std::size_t axis = view.shape.rank(); axis-- > 0;) {
      offset += rest % view.shape[axis] * view.strides[axis];
      rest /= view.shape[axis];
    }
    out.insert(out.end(), view.data + offset * size, view.data + (offset + 1) * size);
  }
  return out;
}

constexpr DType kSizes[] = {DType::uint8,   DType::float16,   DType::float32,
                            DType::float64, DType::complex64, DType::complex128};

template <typename Visit>
void for_each_size_and_layout(Visit visit) {
  std::mt19937_64 random(3);
  for (const DType dtype : kSizes) {
    std::vector<std::byte> memory(40000 * 16);
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
    for (const StridedShape& strided : strided_shapes()) {
      SCOPED_TRACE(std::string(model::dtype_info(dtype).name) + ", " + strided.name);
      visit(view_of(dtype, strided, memory));
    }
  }
}

TEST(StridedCopy, EverySizeAndLayout) {
  for_each_size_and_layout([](const TensorView& view) {
    const std::vector<std::byte> expected = copy_plainly(view);
    for_each_instruction_set([&] {
      std::vector<std::byte> actual(view.byte_count() + 1, std::byte{0x5a});
      copy_row_major(view, std::span(actual).first(view.byte_count()));
      EXPECT_EQ(actual.back(), std::byte{0x5a}) << "written past the end";
      actual.pop_back();
      EXPECT_TRUE(actual == expected);
    });
  });
}

TEST(StridedCopy, TransposesOfEveryEdge) {
  std::vector<std::uint16_t> memory(70 * 300);
  std::iota(memory.begin(), memory.end(), 0);
  for (const std::int64_t rows : {1, 2, 7, 8, 9, 31, 33, 64, 70})
    for (const std::int64_t columns : {1, 3, 8, 15, 16, 255, 256, 257, 300}) {
      TensorView view = TensorView::row_major(DType::uint16, {rows, columns}, memory.data());
      view.strides = {1, 70};
      std::vector<std::byte> actual(view.byte_count());
      copy_row_major(view, actual);
      EXPECT_TRUE(actual == copy_plainly(view)) << rows << " x " << columns;
    }
}

TEST(RowMajorReader, BlocksOfAnySizeJoinToTheWhole) {
  for_each_size_and_layout([](const TensorView& view) {
    const std::vector<std::byte> expected = copy_plainly(view);
    const std::size_t size = model::dtype_info(view.dtype).bits / 8;
    for (const std::size_t step : {1, 7, 64, 5000}) {
      std::vector<std::byte> buffer(step * size), joined;
      RowMajorReader reader(view);
      while (reader.remaining() > 0) {
        const std::size_t count = std::min<std::uint64_t>(step, reader.remaining());
        const std::byte* block = reader.next(count, buffer.data());
        joined.insert(joined.end(), block, block + count * size);
      }
      EXPECT_TRUE(joined == expected);
    }
  });
}

TEST(Md5, KnownDigests) {
  EXPECT_EQ(md5_hex(TensorView::row_major(DType::uint8, {0}, nullptr)), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5_hex(TensorView::row_major(DType::uint8, {3}, "abc")), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(sha1_hex(TensorView::row_major(DType::uint8, {3}, "abc")),
            "a9993e364706816aba3e25717850c26c9cd0d89d");
}

TEST(Md5, LayoutDoesNotMatter) {
  for_each_size_and_layout([](const TensorView& view) {
    const std::vector<std::byte> plain = copy_plainly(view);
    EXPECT_EQ(md5_hex(view), md5_hex(TensorView::row_major(view.dtype, view.shape, plain.data())));
  });
}

// As xxhsum -H2 has them.
TEST(Xxh128, KnownDigests) {
  EXPECT_EQ(xxh128_hex(TensorView::row_major(DType::uint8, {0}, nullptr)),
            "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(xxh128_hex(TensorView::row_major(DType::uint8, {3}, "abc")), "06b05ab6733a618578af5f94892f3950");
  std::vector<std::uint8_t> many(4000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::uint8_t>(i * 37);
  EXPECT_EQ(xxh128_hex(TensorView::row_major(DType::uint8, {4000}, many.data())),
            "25c7669ba0b1e13a0797e72b8e877269");
}

TEST(Xxh128, LayoutDoesNotMatter) {
  for_each_size_and_layout([](const TensorView& view) {
    const std::vector<std::byte> plain = copy_plainly(view);
    EXPECT_EQ(xxh128_hex(view), xxh128_hex(TensorView::row_major(view.dtype, view.shape, plain.data())));
  });
}

TEST(Md5, PackedTypesHashTheFirstUnpackedBytes) {
  const std::byte packed[] = {std::byte{0x21}, std::byte{0x43}, std::byte{0xf5}};
  const std::int8_t int4[] = {1, 2, 3};  // byte_count() of the 5 elements 1 2 3 4 5
  EXPECT_EQ(md5_hex(TensorView::row_major(DType::int4, {5}, packed)),
            md5_hex(TensorView::row_major(DType::int8, {3}, int4)));
  const std::uint8_t uint1[] = {0, 0};  // of the 11 elements 0 0 1 0 ...
  EXPECT_EQ(md5_hex(TensorView::row_major(DType::uint1, {11}, packed)),
            md5_hex(TensorView::row_major(DType::uint8, {2}, uint1)));
}

}  // namespace
}  // namespace opdump::math
