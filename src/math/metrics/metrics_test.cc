#include "math/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "math/test_tensors.h"

namespace opdump::math {
namespace {

using model::DType;
using model::Shape;
using model::TensorView;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

void expect_near(double actual, double expected) {
  if (std::isfinite(expected))
    EXPECT_NEAR(actual, expected, 1e-11 * std::max(1.0, std::abs(expected)));
  else
    EXPECT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected)))
        << actual << " " << expected;
}

void expect_identical(double actual, double expected) {
  EXPECT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected)))
      << actual << " " << expected;
}

void expect_same(const Metrics& actual, const Metrics& expected) {
  EXPECT_EQ(actual.count, expected.count);
  EXPECT_EQ(actual.mismatch_count, expected.mismatch_count);
  EXPECT_EQ(actual.nan_mismatch_count, expected.nan_mismatch_count);
  expect_near(actual.cosine, expected.cosine);
  expect_near(actual.relative_l2, expected.relative_l2);
  expect_near(actual.mean_abs, expected.mean_abs);
  expect_near(actual.rmse, expected.rmse);
  expect_near(actual.actual_norm, expected.actual_norm);
  expect_identical(actual.max_abs, expected.max_abs);
  expect_identical(actual.max_rel, expected.max_rel);
  EXPECT_EQ(actual.max_abs_index, expected.max_abs_index);
  expect_identical(actual.max_abs_actual, expected.max_abs_actual);
  expect_identical(actual.max_abs_golden, expected.max_abs_golden);
}

Metrics compare(const TensorView& actual, const TensorView& golden, Tolerance tolerance = {}) {
  auto metrics = compare_tensors(actual, golden, tolerance);
  EXPECT_TRUE(metrics) << (metrics ? "" : metrics.error().message());
  return metrics ? *metrics : Metrics{};
}

Metrics compare(const std::vector<float>& actual, const std::vector<float>& golden,
                Tolerance tolerance = {}) {
  const auto size = static_cast<std::int64_t>(actual.size());
  return compare(TensorView::row_major(DType::float32, {size}, actual.data()),
                 TensorView::row_major(DType::float32, {size}, golden.data()), tolerance);
}

void expect_reference(const TensorView& actual, const TensorView& golden) {
  const Tolerance tolerance{0.1, 0.01};
  const Metrics expected = compare_tensors_reference(actual, golden, tolerance);
  for_each_instruction_set([&] { expect_same(compare(actual, golden, tolerance), expected); });
}

class EveryPair : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Metrics, EveryPair, testing::ValuesIn(kStatDTypes),
                         [](const auto& info) { return std::string(model::dtype_info(info.param).name); });

// Every layout and kind of element of one dtype against row-major memory of another.
TEST_P(EveryPair, FastPassAgreesWithTheReference) {
  std::mt19937_64 random(5);
  for_each_tensor(GetParam(), [&](const std::string& name, const TensorView& view) {
    const DType others[] = {GetParam(), DType::float32, DType::float16, DType::int64, DType::float64};
    const DType dtype = others[random() % std::size(others)];
    SCOPED_TRACE(name + " against " + std::string(model::dtype_info(dtype).name));
    const std::vector<std::byte> memory = random_memory(
        dtype, kElementKinds[random() % std::size(kElementKinds)], view.element_count(), random);
    expect_reference(view, TensorView::row_major(dtype, view.shape, memory.data()));
  });
}

// Tensors that are nearly equal, as they are in practice.
TEST_P(EveryPair, AFewElementsDiffer) {
  std::mt19937_64 random(6);
  for (const std::int64_t count : {1, 5, 64, 2047, 2048, 2049, 10000}) {
    SCOPED_TRACE(count);
    const auto size = static_cast<std::size_t>(count);
    const std::vector<std::byte> golden = random_memory(GetParam(), ElementKind::infinities, size, random);
    std::vector<std::byte> actual = golden;
    for (int i = 0; i < 3; ++i) actual[random() % actual.size()] ^= std::byte{1};
    expect_reference(TensorView::row_major(GetParam(), {count}, actual.data()),
                     TensorView::row_major(GetParam(), {count}, golden.data()));
  }
}

TEST(Metrics, ComplexElementsAreTwoReals) {
  std::mt19937_64 random(7);
  for (const StridedShape& strided : strided_shapes()) {
    SCOPED_TRACE(strided.name);
    const std::vector<std::byte> memory =
        random_memory(DType::float32, ElementKind::everything, 80000, random);
    const TensorView view = view_of(DType::complex64, strided, memory);
    const std::vector<std::byte> other =
        random_memory(DType::float64, ElementKind::ordinary, view.element_count() * 2, random);
    expect_reference(view, TensorView::row_major(DType::complex128, view.shape, other.data()));
  }
}

TEST(Metrics, OfASmallExample) {
  const Metrics m = compare({1, 2, 3, 5}, {1, 2, 4, 4}, {0.1, 0.7});
  EXPECT_EQ(m.count, 4u);
  EXPECT_EQ(m.mismatch_count, 0u);
  EXPECT_EQ(m.max_abs, 1);
  EXPECT_EQ(m.max_abs_index, 2u);
  EXPECT_EQ(m.max_abs_actual, 3);
  EXPECT_EQ(m.max_abs_golden, 4);
  EXPECT_EQ(m.max_rel, 0.25);
  EXPECT_EQ(m.mean_abs, 0.5);
  EXPECT_EQ(m.rmse, std::sqrt(0.5));
  EXPECT_NEAR(m.relative_l2, std::sqrt(2.0 / 37), 1e-15);
  EXPECT_NEAR(m.cosine, 37 / std::sqrt(39.0 * 37), 1e-15);
  EXPECT_EQ(compare({1, 2, 3, 5}, {1, 2, 4, 4}, {0.2, 0.1}).mismatch_count, 2u);
}

TEST(Metrics, EqualTensorsAreExactlyEqual) {
  std::mt19937_64 random(8);
  for (const std::size_t count : {1, 2, 3, 10, 1000, 5000}) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(random() % 1000) / 7 - 70;
    const Metrics m = compare(values, values);
    EXPECT_EQ(m.cosine, 1) << count;
    EXPECT_EQ(m.max_abs, 0);
    EXPECT_EQ(m.relative_l2, 0);
    EXPECT_EQ(m.mismatch_count, 0u);
  }
}

TEST(Metrics, NanEqualsNanAndInfinityItself) {
  const Metrics m = compare({kNan, kInf, -kInf, 2}, {-kNan, kInf, -kInf, 2});
  EXPECT_EQ(m.mismatch_count, 0u);
  EXPECT_EQ(m.max_abs, 0);
  EXPECT_EQ(m.max_rel, 0);
  EXPECT_EQ(m.cosine, 1);
  EXPECT_EQ(m.rmse, 0);
}

TEST(Metrics, NanOrInfinityAgainstAnythingElse) {
  for (const float bad : {kNan, kInf, -kInf})
    for (const bool swap : {false, true}) {
      const std::vector<float> with{1, bad, 3}, without{1, 2, 3};
      const Metrics m = swap ? compare(without, with, {10, 10}) : compare(with, without, {10, 10});
      EXPECT_EQ(m.mismatch_count, 1u);
      EXPECT_EQ(m.nan_mismatch_count, 1u);
      EXPECT_EQ(m.max_abs_index, 1u);
      EXPECT_EQ(m.cosine, 1);
      for (const double metric : {m.max_abs, m.max_rel, m.mean_abs, m.rmse, m.relative_l2})
        EXPECT_EQ(metric, kInf);
    }
  EXPECT_EQ(compare({kInf}, {-kInf}).nan_mismatch_count, 1u);
  EXPECT_EQ(compare({kInf}, {kNan}).nan_mismatch_count, 1u);
}

TEST(Metrics, AFillerIsLeftOutAndALowerNumberIsClamped) {
  const std::vector<float> golden{-1e9F, 3, -1e9F, 4}, actual{-1e9F, 3, -1e9F, 4.5F};
  const auto g = TensorView::row_major(DType::float32, {4}, golden.data());
  const auto a = TensorView::row_major(DType::float32, {4}, actual.data());
  const Tolerance tolerance{.rtol = 1e-6, .filler = -1e9};
  const Metrics m = *compare_tensors(a, g, tolerance);
  EXPECT_EQ(m.relative_l2, 0.1);
  EXPECT_EQ(m.mismatch_count, 1u);
  expect_same(m, compare_tensors_reference(a, g, tolerance));
  const std::array<std::uint16_t, 4> half{0xfbff, 0x4200, 0xfbff, 0x4400},
      infinite{0xfc00, 0x4200, 0xfbff, 0x4400};
  EXPECT_EQ(compare(TensorView::row_major(DType::float16, {4}, half.data()), g).mismatch_count, 0u);
  const std::vector<float> large{1e9F, 3, 1e9F, 4};  // which overflows
  const std::array<std::uint16_t, 4> saturated{0x7bff, 0x4200, 0x7bff, 0x4400};
  EXPECT_EQ(compare(TensorView::row_major(DType::float16, {4}, saturated.data()),
                    TensorView::row_major(DType::float32, {4}, large.data()))
                .mismatch_count,
            2u);
  EXPECT_EQ(compare(TensorView::row_major(DType::float16, {4}, infinite.data()), g).mismatch_count, 1u);
}

TEST(Metrics, LargestNumbersOfTwoTypesStandForInfinity) {
  const std::vector<float> single{-std::numeric_limits<float>::max(), 2, std::numeric_limits<float>::max()};
  const std::vector<double> wide{-std::numeric_limits<double>::max(), 2, std::numeric_limits<double>::max()};
  const std::array<std::uint16_t, 3> half{0xfbff, 0x4000, 0x7bff}, brain{0xff7f, 0x4000, 0x7f7f};
  const TensorView views[] = {TensorView::row_major(DType::float32, {3}, single.data()),
                              TensorView::row_major(DType::float64, {3}, wide.data()),
                              TensorView::row_major(DType::float16, {3}, half.data()),
                              TensorView::row_major(DType::bfloat16, {3}, brain.data())};
  for (const TensorView& actual : views)
    for (const TensorView& golden : views) {
      const Metrics m = compare(actual, golden);
      EXPECT_EQ(m.mismatch_count, 0u);
      EXPECT_EQ(m.max_abs, 0);
      EXPECT_EQ(m.relative_l2, 0);
      if (actual.dtype != golden.dtype) {
        EXPECT_EQ(m.cosine, 1);
        expect_same(m, compare_tensors_reference(actual, golden, {}));
      }
    }
  const std::vector<float> other{-std::numeric_limits<float>::max(), 2, 65504};
  const auto wrong = TensorView::row_major(DType::float32, {3}, other.data());
  EXPECT_EQ(compare(wrong, views[1]).mismatch_count, 1u);
}

TEST(Metrics, Zeros) {
  EXPECT_EQ(compare({0, -0.0f}, {0, 0}).cosine, 1);
  EXPECT_EQ(compare({0, 0}, {0, 1}).cosine, 0);
  EXPECT_EQ(compare({0, 1}, {0, 0}).cosine, 0);
  EXPECT_EQ(compare({0, 1}, {0, 0}).max_rel, kInf);
  EXPECT_EQ(compare({0, 1}, {0, 0}).relative_l2, kInf);
  EXPECT_EQ(compare({0, 0}, {0, 1}).relative_l2, 1);
  EXPECT_EQ(compare(std::vector<float>(), {}).count, 0u);
  EXPECT_EQ(compare(std::vector<float>(), {}).cosine, 1);
}

TEST(Metrics, WhatCannotBeComparedSaysWhy) {
  const std::array<double, 8> memory{};
  const auto view = [&](DType dtype, Shape shape) {
    return TensorView::row_major(dtype, shape, memory.data());
  };
  const auto message = [](const TensorView& actual, const TensorView& golden) {
    auto metrics = compare_tensors(actual, golden, {});
    if (metrics) return std::string("no error");
    EXPECT_EQ(metrics.error().code(), Code::unsupported);
    return metrics.error().message();
  };
  EXPECT_EQ(message(view(DType::float32, {2, 3}), view(DType::float32, {5})),
            "shape (2,3) against (5); expected as many elements");
  EXPECT_EQ(message(view(DType::float32, {2}), view(DType::complex64, {2})),
            "float32 against complex64; expected both complex or both real");
  EXPECT_THAT(message(view(DType::float32, {2}), view(DType::undefined, {2})),
              testing::HasSubstr("undefined"));
}

TEST(Metrics, ThreadsChangeNoBit) {
  std::mt19937_64 random(9);
  const std::int64_t count = (std::int64_t{5} << 19) + 77;
  std::vector<float> a(static_cast<std::size_t>(count)), g(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(random() % 1000) - 500;
    g[i] = a[i] + static_cast<float>(random() % 100) / 1000;
  }
  a[2'000'000] += 77;  // the worst, in the middle of the second part
  a[2'300'000] += 77;
  const auto view = [&](const std::vector<float>& x) {
    return TensorView::row_major(DType::float32, {count}, x.data());
  };
  const Metrics reference = compare_tensors_reference(view(a), view(g), {1e-5, 1e-5});
  const auto one = compare_tensors(view(a), view(g), {1e-5, 1e-5}, 1);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->max_abs_index, reference.max_abs_index);
  EXPECT_EQ(one->mismatch_count, reference.mismatch_count);
  EXPECT_NEAR(one->rmse, reference.rmse, 1e-12);
  for (const unsigned threads : {2u, 3u}) {
    const auto several = compare_tensors(view(a), view(g), {1e-5, 1e-5}, threads);
    ASSERT_TRUE(several);
    EXPECT_EQ(several->cosine, one->cosine);
    EXPECT_EQ(several->rmse, one->rmse);
    EXPECT_EQ(several->mean_abs, one->mean_abs);
    EXPECT_EQ(several->max_abs_index, one->max_abs_index);
    EXPECT_EQ(several->count, one->count);
  }
}

}  // namespace
}  // namespace opdump::math
