// Every layout against its index map (layout_rules_test.h), one element after the other.
#include "math/layout/device_layout.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "math/layout/layout_parts.h"
#include "math/layout/layout_rules_test.h"
#include "math/test_tensors.h"

namespace opdump::math {
namespace {

using model::DType;
using model::TensorView;

constexpr DType kBySize[] = {DType::int8, DType::float16, DType::float32, DType::int64, DType::complex128};

// Both sides of a rule, byte by byte, made with the rule alone.
struct Expected {
  std::vector<std::byte> plain, stored;
};

Expected make_expected(const LayoutRule& rule, std::size_t size, std::mt19937_64& random) {
  Expected expected;
  const std::size_t count = *model::element_count(rule.plain_shape);
  expected.plain.resize(count * size);
  for (std::byte& byte : expected.plain) byte = static_cast<std::byte>(random() % 255 + 1);
  expected.stored.resize(*model::element_count(rule.stored_shape) * size);
  Index index(rule.plain_shape.rank(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = static_cast<std::size_t>(rule.place(index));
    std::memcpy(expected.stored.data() + place * size, expected.plain.data() + i * size, size);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < rule.plain_shape[axis]) break;
      index[axis] = 0;
    }
  }
  return expected;
}

std::string describe(const LayoutRule& rule) {
  return std::string(model::format_name(rule.plain)) + model::format_shape(rule.plain_shape) + " " +
         std::string(model::format_name(rule.blocked)) + model::format_shape(rule.stored_shape) + " groups " +
         std::to_string(rule.groups);
}

// The change made part by part; every byte has to be given once.
std::vector<std::byte> in_parts(const TensorView& in, Format from, Format to, const Shape& shape_to,
                                std::int64_t groups, std::size_t part_bytes, PartOrder order) {
  const auto parts = LayoutParts::make(in, from, to, shape_to, groups, part_bytes, order);
  if (!parts) return {};
  std::vector<std::byte> out(*model::element_count(shape_to) * (model::dtype_info(in.dtype).bits / 8));
  std::vector<std::byte> buffer(parts->buffer_bytes(), std::byte{0xee});
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < parts->count(); ++i) {
    const auto made =
        parts->make_part(i, buffer, [&](std::uint64_t offset, std::span<const std::byte> bytes) {
          EXPECT_TRUE(order == PartOrder::fast || offset == given);
          EXPECT_LE(offset + bytes.size(), out.size());
          if (offset + bytes.size() <= out.size())
            std::memcpy(out.data() + offset, bytes.data(), bytes.size());
          given += bytes.size();
          return ok();
        });
    EXPECT_TRUE(made);
  }
  EXPECT_EQ(given, out.size());
  return out;
}

void check_parts(const TensorView& in, Format from, Format to, const Shape& shape_to, std::int64_t groups,
                 const std::vector<std::byte>& expected, std::mt19937_64& random) {
  for (const PartOrder order : {PartOrder::as_result, PartOrder::fast}) {
    const std::size_t part_bytes = expected.size() / (1 + random() % 40) + 1;
    EXPECT_TRUE(in_parts(in, from, to, shape_to, groups, part_bytes, order) == expected)
        << model::format_name(from) << " to " << model::format_name(to) << " in parts of " << part_bytes;
  }
}

void check(const LayoutRule& rule, DType dtype, unsigned threads, std::mt19937_64& random) {
  const std::size_t size = model::dtype_info(dtype).bits / 8;
  const Expected expected = make_expected(rule, size, random);
  std::vector<std::byte> out(expected.stored.size(), std::byte{0xee});
  const auto plain = TensorView::row_major(dtype, rule.plain_shape, expected.plain.data());
  auto done = convert_layout(plain, rule.plain, rule.blocked, rule.stored_shape, rule.groups, out, threads);
  ASSERT_TRUE(done) << done.error().message();
  ASSERT_TRUE(out == expected.stored);
  check_parts(plain, rule.plain, rule.blocked, rule.stored_shape, rule.groups, expected.stored, random);
  const auto stored = TensorView::row_major(dtype, rule.stored_shape, expected.stored.data());
  out.assign(expected.plain.size(), std::byte{0xee});
  done = convert_layout(stored, rule.blocked, rule.plain, rule.plain_shape, rule.groups, out, threads);
  ASSERT_TRUE(done) << done.error().message();
  ASSERT_TRUE(out == expected.plain);
  check_parts(stored, rule.blocked, rule.plain, rule.plain_shape, rule.groups, expected.plain, random);
}

TEST(DeviceLayout, EveryElementIsWhereTheRuleSays) {
  std::mt19937_64 random(1);
  for (const LayoutRule& rule : rules()) {
    SCOPED_TRACE(describe(rule));
    const auto shape = convert_shape(rule.plain_shape, rule.plain, rule.blocked, {rule.blocks, rule.groups});
    ASSERT_TRUE(shape) << shape.error().message();
    ASSERT_EQ(*shape, rule.stored_shape);
    for (const DType dtype : kBySize) ASSERT_NO_FATAL_FAILURE(check(rule, dtype, 1, random));
  }
}

TEST(DeviceLayout, AllInstructionSetsAndThreadsAgree) {
  std::mt19937_64 random(2);
  for_each_instruction_set([&] {
    for (const DType dtype : kBySize) {
      ASSERT_NO_FATAL_FAILURE(check(nc1hwc0(2, 20, 9, 35, 16), dtype, 1, random));
      ASSERT_NO_FATAL_FAILURE(check(matrix(Format::fractal_nz, {2}, 50, 60, 16, 16), dtype, 1, random));
    }
  });
  for (const DType dtype : kBySize) {
    ASSERT_NO_FATAL_FAILURE(check(nc1hwc0(3, 50, 112, 112, 16), dtype, 3, random));
    ASSERT_NO_FATAL_FAILURE(check(matrix(Format::fractal_nz, {}, 1500, 1001, 16, 16), dtype, 0, random));
    ASSERT_NO_FATAL_FAILURE(check(fractal_z(512, 512, 3, 3, 16), dtype, 2, random));
  }
}

struct Permutation {
  Format from, to;
  std::vector<std::size_t> order;  // which dimension of `from` each one of `to` is
};

TEST(DeviceLayout, PlainLayoutsArePermutations) {
  const Permutation cases[] = {
      {Format::nchw, Format::nhwc, {0, 2, 3, 1}}, {Format::nchw, Format::hwcn, {2, 3, 1, 0}},
      {Format::nhwc, Format::nchw, {0, 3, 1, 2}}, {Format::nhwc, Format::hwcn, {1, 2, 3, 0}},
      {Format::hwcn, Format::nchw, {3, 2, 0, 1}}, {Format::hwcn, Format::nhwc, {3, 0, 1, 2}},
      {Format::chwn, Format::nhwc, {3, 1, 2, 0}}};
  std::mt19937_64 random(5);
  std::vector<std::uint16_t> in(7 * 3 * 5 * 20);
  std::iota(in.begin(), in.end(), 0);
  const auto view = TensorView::row_major(DType::uint16, {7, 3, 5, 20}, in.data());
  for (const Permutation& test : cases) {
    SCOPED_TRACE(model::format_name(test.from));
    const auto shape = convert_shape(view.shape, test.from, test.to);
    ASSERT_TRUE(shape);
    std::vector<std::uint16_t> out(in.size());
    ASSERT_TRUE(convert_layout(view, test.from, test.to, *shape, 1, std::as_writable_bytes(std::span(out))));
    const auto bytes = std::as_bytes(std::span(out));
    check_parts(view, test.from, test.to, *shape, 1, {bytes.begin(), bytes.end()}, random);
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::int64_t from = 0, rest = static_cast<std::int64_t>(i);
      for (std::size_t k = 4; k-- > 0; rest /= (*shape)[k]) {
        ASSERT_EQ((*shape)[k], view.shape[test.order[k]]);
        from += rest % (*shape)[k] * view.strides[test.order[k]];
      }
      ASSERT_EQ(out[i], from);
    }
  }
}

TEST(DeviceLayout, StoredShapesShowPaddedOnes) {
  const auto padded = [](Shape shape, Format from, Format to) {
    const auto result = convert_shape(shape, from, to);
    return result ? model::format_shape(*result) : result.error().message();
  };
  EXPECT_EQ(padded({2, 2, 3, 5, 16}, Format::nc1hwc0, Format::nchw), "(2,32,3,5)");
  EXPECT_EQ(padded({2, 2, 3, 5, 16}, Format::nc1hwc0, Format::nhwc), "(2,3,5,32)");
  EXPECT_EQ(padded({2, 2, 3, 5, 16}, Format::nc1hwc0, Format::hwcn), "(3,5,32,2)");
  EXPECT_EQ(padded({1, 2, 2, 3, 4, 16}, Format::ndc1hwc0, Format::nd), "(1,32,2,3,4)");
  EXPECT_EQ(padded({7, 3, 2, 16, 32}, Format::fractal_nz, Format::nd), "(7,32,96)");
  EXPECT_EQ(padded({3, 2, 16, 16}, Format::fractal_zz, Format::nd), "(48,32)");
  EXPECT_EQ(padded({3, 2, 16, 16}, Format::fractal_z, Format::nd), "(48,32)");
  EXPECT_EQ(padded({2, 3, 4, 5, 16, 16}, Format::c1hwncoc0, Format::hwcn), "(3,4,32,5)");
  EXPECT_EQ(padded({5, 8, 16, 16}, Format::fractal_zn_lstm, Format::nd), "(80,128)");
  EXPECT_EQ(padded({18, 2, 16, 16}, Format::fractal_z, Format::nchw),
            "FRACTAL_Z does not show its original shape");
}

TEST(DeviceLayout, CutsAndJoins) {
  std::vector<std::int32_t> stored(2 * 3 * 2 * 16 * 16);
  std::iota(stored.begin(), stored.end(), 0);
  const auto nz = TensorView::row_major(DType::int32, {2, 3, 2, 16, 16}, stored.data());
  std::vector<std::int32_t> out(2 * 19 * 33);
  ASSERT_TRUE(convert_layout(nz, Format::fractal_nz, Format::nd, {2, 19, 33}, 1,
                             std::as_writable_bytes(std::span(out))));
  EXPECT_EQ(out[33], 16);                            // row 1
  EXPECT_EQ(out[16], 2 * 256);                       // the next block of columns
  EXPECT_EQ(out[19 * 33 + 16 * 33], 3 * 512 + 256);  // the second matrix, the second block of rows
  out.resize(20 * 20);
  const auto four = TensorView::row_major(DType::int32, {2, 2, 16, 16}, stored.data());
  EXPECT_TRUE(convert_layout(four, Format::fractal_nz, Format::nchw, {1, 1, 20, 20}, 1,
                             std::as_writable_bytes(std::span(out))));
  std::vector<std::int32_t> vector(20);  // a row of a matrix, and a column
  EXPECT_TRUE(convert_layout(TensorView::row_major(DType::int32, {2, 1, 16, 16}, stored.data()),
                             Format::fractal_nz, Format::nd, {20}, 1,
                             std::as_writable_bytes(std::span(vector))));
  EXPECT_EQ(vector[16], 256);
  EXPECT_TRUE(convert_layout(TensorView::row_major(DType::int32, {1, 2, 16, 16}, stored.data()),
                             Format::fractal_nz, Format::nd, {20}, 1,
                             std::as_writable_bytes(std::span(vector))));
  EXPECT_EQ(vector[1], 16);
}

Code refusal(DType dtype, Shape shape, Format from, Format to, Shape shape_to, std::int64_t groups = 1) {
  static const std::vector<std::byte> memory(1 << 16);
  const auto view = TensorView::row_major(dtype, shape, memory.data());
  const auto bytes = model::element_count(shape_to).value_or(0) * model::dtype_info(dtype).bits / 8;
  if (bytes > memory.size()) return Code::limit;
  std::vector<std::byte> out(bytes);
  const auto done = convert_layout(view, from, to, shape_to, groups, out);
  return done ? Code::internal : done.error().code();
}

TEST(DeviceLayout, RefusesWhatDoesNotFit) {
  using enum Format;
  const DType f = DType::float16;
  EXPECT_EQ(refusal(f, {1, 1, 2, 2, 16}, nc1hwc0, fractal_z, {4, 1, 16, 16}), Code::unsupported);
  EXPECT_EQ(refusal(f, {4, 4}, nd, nchw, {1, 1, 4, 4}), Code::unsupported);
  EXPECT_EQ(refusal(f, {4, 4}, bn_weight, nchw, {1, 1, 4, 4}), Code::unsupported);
  EXPECT_EQ(refusal(DType::int4, {1, 1, 2, 2, 64}, nc1hwc0, nchw, {1, 1, 2, 2}), Code::unsupported);
  EXPECT_EQ(refusal(f, {1, 1, 2, 2, 16}, nc1hwc0, nchw, {1, 17, 2, 2}), Code::corrupt);
  EXPECT_EQ(refusal(f, {1, 1, 2, 2, 0}, nc1hwc0, nchw, {1, 0, 2, 2}), Code::corrupt);
  EXPECT_EQ(refusal(f, {1, 1, 2, 2}, nc1hwc0, nchw, {1, 1, 2, 2}), Code::corrupt);
  EXPECT_EQ(refusal(f, {1, 2, 2, 16}, fractal_z, nchw, {16, 16, 2, 2}), Code::corrupt);
  EXPECT_EQ(refusal(f, {4, 1, 16, 16}, fractal_z, nchw, {9, 4, 2, 2}, 2), Code::corrupt);
  EXPECT_EQ(refusal(f, {4, 1, 16, 16}, fractal_z, nchw, {8, 4, 2, 2}, -2), Code::corrupt);
  EXPECT_EQ(refusal(f, {1, 1, 16, 16}, fractal_z_c04, nchw, {8, 5, 2, 2}), Code::corrupt);
  EXPECT_EQ(refusal(f, {2, 4, 16, 16}, fractal_zn_lstm, nd, {16, 63}), Code::corrupt);
  EXPECT_EQ(refusal(f, {1, 2, 1, 16, 16}, fractal_nz, nd, {2, 16, 32}), Code::corrupt);
  EXPECT_EQ(refusal(f, {1, 4, 2, 2}, nchw, nc1hwc0, {1, 2, 2, 2, 16}), Code::corrupt);
  EXPECT_EQ(refusal(f, {-1, 4, 2, 2}, nchw, nhwc, {1, 2, 2, 4}), Code::corrupt);
  EXPECT_EQ(refusal(f, {2, 1, 1, 1, 2, 16}, ndc1hwc0, nchw, {2, 4, 1, 2}), Code::internal);  // D is 1
  EXPECT_EQ(refusal(f, {0, 1, 2, 2, 16}, nc1hwc0, nchw, {0, 16, 2, 2}), Code::internal);     // empty
}

TEST(DeviceLayout, HostileShapesDoNotOverflow) {
  std::mt19937_64 random(3);
  const auto number = [&]() -> std::int64_t {
    const std::int64_t some[] = {0,
                                 1,
                                 2,
                                 3,
                                 4,
                                 16,
                                 17,
                                 1 << 20,
                                 std::int64_t{1} << 40,
                                 std::int64_t{1} << 61,
                                 INT64_MAX,
                                 INT64_MAX / 16,
                                 -1};
    return some[random() % std::size(some)];
  };
  for (int i = 0; i < 200000; ++i) {
    std::vector<std::int64_t> dims(random() % 7), dims_to(random() % 7);
    for (std::int64_t& dim : dims) dim = number();
    for (std::int64_t& dim : dims_to) dim = number();
    const auto from = static_cast<Format>(random() % 56), to = static_cast<Format>(random() % 56);
    const Shape shape{std::span<const std::int64_t>(dims)}, shape_to{std::span<const std::int64_t>(dims_to)};
    const BlockSizes blocks{number(), number(), number()};
    const auto converted = convert_shape(shape, from, to, {blocks, number()});
    if (converted) {
      EXPECT_TRUE(from == to || model::element_count(*converted).has_value());
    }
    const auto count = model::element_count(shape), count_to = model::element_count(shape_to);
    if (count.value_or(0) > 1 << 16 || count_to.value_or(1 << 20) > 1 << 16) continue;
    std::vector<std::byte> in(count.value_or(0)), out(*count_to);
    const auto view = TensorView::row_major(DType::int8, shape, in.data());
    const std::int64_t groups = number();
    if (!convert_layout(view, from, to, shape_to, groups, out) || from == to) continue;
    check_parts(view, from, to, shape_to, groups, out, random);
  }
}

TEST(DeviceLayout, VectorsInBlocks) {
  for (const Format format : {Format::fractal_nz, Format::fractal_nz_c0_16}) {
    EXPECT_TRUE(holds_vector({3, 1, 16, 16}, format, 33));   // a row
    EXPECT_TRUE(holds_vector({1, 3, 16, 16}, format, 48));   // a column
    EXPECT_TRUE(holds_vector({1, 1, 16, 16}, format, 1));    // either
    EXPECT_FALSE(holds_vector({3, 1, 16, 16}, format, 32));  // a block more than it needs
    EXPECT_FALSE(holds_vector({3, 1, 16, 16}, format, 49));
    EXPECT_FALSE(holds_vector({3, 2, 16, 16}, format, 33));
    EXPECT_FALSE(holds_vector({1, 3, 1, 16, 16}, format, 33));
  }
  EXPECT_TRUE(holds_vector({1, 3, 16, 16}, Format::fractal_zz, 33));  // whose blocks of rows come first
  EXPECT_FALSE(holds_vector({1, 1, 16, 16}, Format::nc1hwc0, 16));
  EXPECT_FALSE(holds_vector({1, 1, 16, 0}, Format::fractal_nz, 16));
  EXPECT_FALSE(holds_vector({1, 1, 16, 16}, Format::fractal_nz, -1));
}

TEST(DeviceLayout, BlockSizesByChip) {
  EXPECT_EQ(block_sizes(DType::float16, Chip::ascend).c0, 16);
  EXPECT_EQ(block_sizes(DType::int8, Chip::ascend).c0, 32);
  EXPECT_EQ(block_sizes(DType::int4, Chip::ascend).c0, 64);
  EXPECT_EQ(block_sizes(DType::uint1, Chip::ascend).c0, 256);
  EXPECT_EQ(block_sizes(DType::float32, Chip::ascend).c0, 16);
  EXPECT_EQ(block_sizes(DType::float32, Chip::ascend950).c0, 8);
  EXPECT_EQ(block_sizes(DType::int32, Chip::ascend950).c0, 8);
  EXPECT_EQ(block_sizes(DType::int32, Chip::ascend350).c0, 16);
  EXPECT_EQ(block_sizes(DType::float8_e5m2, Chip::ascend950).c0, 32);
  EXPECT_EQ(block_sizes(DType::float16, Chip::ascend035).c0, 8);
  EXPECT_EQ(block_sizes(DType::float16, Chip::ascend035).m0, 1);
  EXPECT_EQ(block_sizes(DType::boolean, Chip::transfers).c0, 32);
}

}  // namespace
}  // namespace opdump::math
