// Every layout against an index map written down a second time, one element after the other.
#include "math/device_layout.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "math/test_tensors.h"

namespace opdump::math {
namespace {

using model::DType;
using model::Format;
using model::Shape;
using model::TensorView;
using Index = std::vector<std::int64_t>;

std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// What cann.md 5.2 says of one layout: the stored shape and where an element goes.
struct Rule {
  Format blocked;
  Format plain;
  Shape plain_shape;
  BlockSizes blocks;
  std::int64_t groups;
  Shape stored_shape;
  std::function<std::int64_t(const Index&)> place;  // of a plain index, as a flat stored index
};

std::int64_t flat(const Index& sizes, const Index& index) {
  std::int64_t result = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) result = result * sizes[i] + index[i];
  return result;
}

Rule nc1hwc0(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, std::int64_t c0,
             Format format = Format::nc1hwc0) {
  const std::int64_t c1 = up(c, c0);
  return {format, Format::nchw, {n, c, h, w}, {16, c0, 16}, 1, {n, c1, h, w, c0}, [=](const Index& i) {
            return flat({n, c1, h, w, c0}, {i[0], i[1] / c0, i[2], i[3], i[1] % c0});
          }};
}

// The same layout next to another plain one: `order` says which dimension of the first rule each one is.
Rule seen_as(const Rule& rule, Format plain, const std::vector<std::size_t>& order) {
  Rule result = rule;
  result.plain = plain;
  std::vector<std::int64_t> dims;
  for (const std::size_t axis : order) dims.push_back(rule.plain_shape[axis]);
  result.plain_shape = Shape(std::span<const std::int64_t>(dims));
  result.place = [place = rule.place, order](const Index& i) {
    Index original(i.size());
    for (std::size_t k = 0; k < order.size(); ++k) original[order[k]] = i[k];
    return place(original);
  };
  return result;
}

Rule ndc1hwc0(std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h, std::int64_t w,
              std::int64_t c0) {
  const std::int64_t c1 = up(c, c0);
  return {Format::ndc1hwc0,
          Format::ncdhw,
          {n, c, d, h, w},
          {16, c0, 16},
          1,
          {n, d, c1, h, w, c0},
          [=](const Index& i) {
            return flat({n, d, c1, h, w, c0}, {i[0], i[2], i[1] / c0, i[3], i[4], i[1] % c0});
          }};
}

Rule fractal_z(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, std::int64_t c0,
               std::int64_t groups = 1) {
  const std::int64_t cin = c, cout = n / groups;
  const std::int64_t e = std::min(std::lcm(c0 / std::gcd(cin, c0), 16 / std::gcd(cout, 16)), groups);
  const std::int64_t c1 = up(cin * e, c0), no = up(cout * e, 16), folded = up(groups, e);
  return {
      Format::fractal_z,
      Format::nchw,
      {n, c, h, w},
      {16, c0, 16},
      groups,
      {folded * c1 * h * w, no, 16, c0},
      [=](const Index& i) {
        const std::int64_t g = i[0] / cout, dst_n = g % e * cout + i[0] % cout, dst_c = g % e * cin + i[1];
        const std::int64_t block = g / e * c1 + dst_c / c0;
        return (((block * h + i[2]) * w + i[3]) * no + dst_n / 16) * 16 * c0 + dst_n % 16 * c0 + dst_c % c0;
      }};
}

Rule fractal_z_3d(std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h, std::int64_t w,
                  std::int64_t c0, std::int64_t groups = 1) {
  const std::int64_t cout = n / groups;
  const std::int64_t e = std::min(std::lcm(c0 / std::gcd(c, c0), 16 / std::gcd(cout, 16)), groups);
  const std::int64_t c1 = up(c * e, c0), no = up(cout * e, 16), folded = up(groups, e);
  return {Format::fractal_z_3d,
          Format::ncdhw,
          {n, c, d, h, w},
          {16, c0, 16},
          groups,
          {folded * d * c1 * h * w, no, 16, c0},
          [=](const Index& i) {
            const std::int64_t g = i[0] / cout, dst_n = g % e * cout + i[0] % cout, dst_c = g % e * c + i[1];
            return flat({folded, d, c1, h, w, no, 16, c0},
                        {g / e, i[2], dst_c / c0, i[3], i[4], dst_n / 16, dst_n % 16, dst_c % c0});
          }};
}

Rule fractal_z_3d_transpose(std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h, std::int64_t w,
                            std::int64_t c0) {
  const std::int64_t c1 = up(c, c0), no = up(n, 16);
  return {Format::fractal_z_3d_transpose,
          Format::ncdhw,
          {n, c, d, h, w},
          {16, c0, 16},
          1,
          {d * h * w * no, c1, 16, c0},
          [=](const Index& i) {
            return flat({d, c1, h, w, no * 16, c0}, {i[2], i[1] / c0, i[3], i[4], i[0], i[1] % c0});
          }};
}

Rule c1hwc0(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c0) {
  return {Format::c1hwc0,
          Format::nchw,
          {n, 1, h, w},
          {16, c0, 16},
          1,
          {up(n, c0), h, w, c0},
          [=](const Index& i) {
            return flat({up(n, c0), h, w, c0}, {i[0] / c0, i[2], i[3], i[0] % c0});
          }};
}

Rule c1hwncoc0(std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t n, std::int64_t c0) {
  const std::int64_t c1 = up(c, c0);
  return {Format::c1hwncoc0,
          Format::hwcn,
          {h, w, c, n},
          {16, c0, 16},
          1,
          {c1, h, w, n, c0, c0},
          [=](const Index& i) {
            return flat({c1, h, w, n, c0, c0}, {i[2] / c0, i[0], i[1], i[3], i[2] % c0, i[2] % c0});
          }};
}

Rule fractal_z_c04(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, std::int64_t c0) {
  return {Format::fractal_z_c04,
          Format::nchw,
          {n, c, h, w},
          {16, c0, 16},
          1,
          {up(4 * h * w, c0), up(n, 16), 16, c0},
          [=](const Index& i) {
            const std::int64_t k = (i[2] * w + i[3]) * 4 + i[1];
            return flat({up(4 * h * w, c0), up(n, 16), 16, c0}, {k / c0, i[0] / 16, i[0] % 16, k % c0});
          }};
}

Rule fractal_z_wino(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, std::int64_t c0) {
  const Index sizes = {up(c, c0), up(n, 16), 2, h * w, 8, c0};
  return {Format::fractal_z_wino,
          Format::nchw,
          {n, c, h, w},
          {16, c0, 16},
          1,
          Shape(std::span<const std::int64_t>(sizes)),
          [=](const Index& i) {
            return flat(sizes, {i[1] / c0, i[0] / 16, i[0] % 16 / 8, i[2] * w + i[3], i[0] % 8, i[1] % c0});
          }};
}

Rule fractal_zn_lstm(std::int64_t input, std::int64_t hidden) {
  const std::int64_t columns = up(hidden, 16);
  const Index sizes = {up(input, 16) + columns, 4 * columns, 16, 16};
  return {Format::fractal_zn_lstm,
          Format::nd,
          {input + hidden, 4 * hidden},
          {},
          1,
          Shape(std::span<const std::int64_t>(sizes)),
          [=](const Index& i) {
            const bool is_input = i[0] < input;
            const std::int64_t row = is_input ? i[0] : i[0] - input;
            const std::int64_t row_block = row / 16 + (is_input ? 0 : up(input, 16));
            const std::int64_t gate = i[1] / hidden, column = i[1] % hidden;
            return flat(sizes, {row_block, gate * columns + column / 16, column % 16, row % 16});
          }};
}

Rule matrix(Format format, Index batch, std::int64_t h, std::int64_t w, std::int64_t m0, std::int64_t c0) {
  const bool is_zz = format == Format::fractal_zz;
  Index plain = batch, stored = batch;
  plain.insert(plain.end(), {h, w});
  if (is_zz)
    stored.insert(stored.end(), {up(h, c0), up(w, c0), c0, c0});
  else
    stored.insert(stored.end(), {up(w, c0), up(h, m0), m0, c0});
  return {format,
          Format::nd,
          Shape(std::span<const std::int64_t>(plain)),
          {m0, c0, 16},
          1,
          Shape(std::span<const std::int64_t>(stored)),
          [=](const Index& i) {
            Index place(i.begin(), i.end() - 2);
            const std::int64_t row = i[i.size() - 2], column = i[i.size() - 1];
            if (is_zz)
              place.insert(place.end(), {row / c0, column / c0, row % c0, column % c0});
            else
              place.insert(place.end(), {column / c0, row / m0, row % m0, column % c0});
            return flat(stored, place);
          }};
}

std::vector<Rule> rules() {
  std::vector<Rule> all;
  for (const std::int64_t c : {1, 15, 16, 17, 40})
    for (const std::int64_t c0 : {4, 8, 16, 32}) {
      all.push_back(nc1hwc0(2, c, 3, 5, c0));
      all.push_back(fractal_z(c + 3, c, 3, 2, c0));
      all.push_back(fractal_z_wino(c + 3, c, 3, 2, c0));
      all.push_back(ndc1hwc0(2, c, 3, 2, 5, c0));
      all.push_back(fractal_z_3d(c + 1, c, 3, 2, 2, c0));
      all.push_back(fractal_z_3d_transpose(c + 1, c, 3, 2, 2, c0));
      all.push_back(c1hwc0(c, 4, 3, c0));
      all.push_back(c1hwncoc0(3, 2, c, 2, c0));
      all.push_back(fractal_z_c04(c, c % 4 + 1, 3, 5, c0));
      all.push_back(matrix(Format::fractal_nz, {}, c, 2 * c + 1, 16, c0));
      all.push_back(matrix(Format::fractal_nz, {2, 3}, c + 1, c, c0 == 8 ? 1 : 16, c0));
      all.push_back(matrix(Format::fractal_zz, {2}, c + 1, c, 16, c0));
    }
  all.push_back(nc1hwc0(2, 7, 3, 5, 4, Format::nc1hwc0_c04));
  all.push_back(matrix(Format::fractal_nz_c0_8, {2}, 20, 21, 16, 8));
  all.push_back(nc1hwc0(1, 33, 40, 70, 16));  // large enough for every path of the transposition
  all.push_back(matrix(Format::fractal_nz, {}, 70, 200, 16, 16));
  for (const auto& [n, c, groups] : {std::array{8, 4, 2},
                                     {8, 1, 8},
                                     {64, 1, 64},
                                     {40, 3, 10},
                                     {34, 5, 17},
                                     {32, 16, 2},
                                     {48, 20, 3},
                                     {96, 24, 4}})
    for (const std::int64_t c0 : {8, 16, 32}) {
      all.push_back(fractal_z(n, c, 3, 3, c0, groups));
      all.push_back(fractal_z_3d(n, c, 2, 3, 1, c0, groups));
    }
  for (const auto& [input, hidden] : {std::array{5, 3}, {16, 16}, {40, 17}, {0, 20}, {33, 64}})
    all.push_back(fractal_zn_lstm(input, hidden));
  const std::vector<Rule> first = all;
  for (const Rule& rule : first) {
    if (rule.plain == Format::nchw) {
      all.push_back(seen_as(rule, Format::nhwc, {0, 2, 3, 1}));
      all.push_back(seen_as(rule, Format::hwcn, {2, 3, 1, 0}));
      all.push_back(seen_as(rule, Format::chwn, {1, 2, 3, 0}));
    } else if (rule.plain == Format::ncdhw) {
      all.push_back(seen_as(rule, Format::nd, {0, 1, 2, 3, 4}));
      all.push_back(seen_as(rule, Format::ndhwc, {0, 2, 3, 4, 1}));
      all.push_back(seen_as(rule, Format::dhwcn, {2, 3, 4, 1, 0}));
      all.push_back(seen_as(rule, Format::dhwnc, {2, 3, 4, 0, 1}));
    }
  }
  return all;
}

constexpr DType kBySize[] = {DType::int8, DType::float16, DType::float32, DType::int64, DType::complex128};

// Both sides of a rule, byte by byte, made with the rule alone.
struct Expected {
  std::vector<std::byte> plain, stored;
};

Expected make_expected(const Rule& rule, std::size_t size, std::mt19937_64& random) {
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

std::string describe(const Rule& rule) {
  return std::string(model::format_name(rule.plain)) + model::format_shape(rule.plain_shape) + " " +
         std::string(model::format_name(rule.blocked)) + model::format_shape(rule.stored_shape) + " groups " +
         std::to_string(rule.groups);
}

void check(const Rule& rule, DType dtype, unsigned threads, std::mt19937_64& random) {
  const std::size_t size = model::dtype_info(dtype).bits / 8;
  const Expected expected = make_expected(rule, size, random);
  std::vector<std::byte> out(expected.stored.size(), std::byte{0xee});
  const auto plain = TensorView::row_major(dtype, rule.plain_shape, expected.plain.data());
  auto done = convert_layout(plain, rule.plain, rule.blocked, rule.stored_shape, rule.groups, out, threads);
  ASSERT_TRUE(done) << done.error().message();
  ASSERT_TRUE(out == expected.stored);
  const auto stored = TensorView::row_major(dtype, rule.stored_shape, expected.stored.data());
  out.assign(expected.plain.size(), std::byte{0xee});
  done = convert_layout(stored, rule.blocked, rule.plain, rule.plain_shape, rule.groups, out, threads);
  ASSERT_TRUE(done) << done.error().message();
  ASSERT_TRUE(out == expected.plain);
}

TEST(DeviceLayout, EveryElementIsWhereTheRuleSays) {
  std::mt19937_64 random(1);
  for (const Rule& rule : rules()) {
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
  std::vector<std::uint16_t> in(7 * 3 * 5 * 20);
  std::iota(in.begin(), in.end(), 0);
  const auto view = TensorView::row_major(DType::uint16, {7, 3, 5, 20}, in.data());
  for (const Permutation& test : cases) {
    SCOPED_TRACE(model::format_name(test.from));
    const auto shape = convert_shape(view.shape, test.from, test.to);
    ASSERT_TRUE(shape);
    std::vector<std::uint16_t> out(in.size());
    ASSERT_TRUE(convert_layout(view, test.from, test.to, *shape, 1, std::as_writable_bytes(std::span(out))));
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
    (void)static_cast<bool>(convert_layout(view, from, to, shape_to, number(), out));
  }
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
