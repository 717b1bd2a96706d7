#include "math/metrics/error_details.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace opdump::math {
namespace {

using model::DType;
using model::TensorView;

constexpr double kInf = std::numeric_limits<double>::infinity();

TensorView view_of(const std::vector<float>& values, model::Shape shape) {
  return TensorView::row_major(DType::float32, std::move(shape), values.data());
}

TEST(ErrorDetails, equal_tensors_have_no_errors) {
  const std::vector<float> values{1, 2, NAN, INFINITY};
  const auto details = examine_errors(view_of(values, {4}), view_of(values, {4}), {0, 0}, true);
  ASSERT_TRUE(details);
  EXPECT_TRUE(details->worst.empty());
  EXPECT_EQ(details->scaled.back().value, 0);
  EXPECT_EQ(details->golden.nan_count, 1u);
  EXPECT_EQ(details->golden.inf_count, 1u);
  EXPECT_THAT(details->map.cells, testing::Each(0.0f));
}

TEST(ErrorDetails, the_worst_element_is_in_the_map_the_profiles_and_the_list) {
  std::vector<float> golden(3 * 5 * 200, 1), actual = golden;
  const std::uint64_t at = 2 * 1000 + 3 * 200 + 150;
  actual[at] = 9;
  actual[7] = 1.5;
  const auto details =
      examine_errors(view_of(actual, {3, 5, 200}), view_of(golden, {3, 5, 200}), {0, 1}, true);
  ASSERT_TRUE(details);
  ASSERT_EQ(details->worst.size(), 2u);
  EXPECT_EQ(details->worst[0].index, at);
  EXPECT_EQ(details->worst[0].actual, 9);
  EXPECT_EQ(details->worst[1].index, 7u);
  EXPECT_EQ(details->map.rows, 15u);
  EXPECT_EQ(details->map.columns, 64u);
  EXPECT_EQ(details->map.across, 2u);
  EXPECT_EQ(details->map.cells[13 * 64 + 150 * 64 / 200], 8);
  ASSERT_EQ(details->profiles.size(), 3u);
  EXPECT_THAT(details->profiles[0].cells, testing::ElementsAre(0.5f, 0, 8));
  EXPECT_THAT(details->profiles[1].cells, testing::ElementsAre(0.5f, 0, 0, 8, 0));
  EXPECT_EQ(details->scaled.back().value, 8);
  EXPECT_EQ(details->absolute.front().value, 0);
}

TEST(ErrorDetails, planes_have_the_worst_element_where_it_is) {
  std::vector<float> golden(10 * 3 * 40 * 5, 1), actual = golden;
  const std::size_t at = ((7 * 3 + 2) * 40 + 33) * 5 + 4;
  actual[at] = 3;
  actual[0] = 1 + 2.0f / 256;  // 8 octaves below
  const model::Shape shape{10, 3, 40, 5};
  const auto details = examine_errors(TensorView::row_major(DType::float32, shape, actual.data()),
                                      TensorView::row_major(DType::float32, shape, golden.data()), {}, true);
  ASSERT_TRUE(details && details->planes);
  const ErrorPlanes& planes = *details->planes;
  EXPECT_EQ(planes.sizes, (std::vector<std::size_t>{10, 3, 16, 5}));
  EXPECT_EQ(planes.largest, 2);
  ASSERT_EQ(planes.cells.size(), 10u * 3 * 16 * 5);
  const std::size_t cell = ((7 * 3 + 2) * 16 + 33 * 16 / 40) * 5 + 4;
  for (std::size_t i = 0; i < planes.cells.size(); ++i)
    EXPECT_EQ(planes.cells[i], i == cell ? 254 : i == 0 ? 190 : 0) << i;
  // Whatever the shape, there are few cells.
  const model::Shape large{2, 70, 3, 50, 2};
  const std::vector<float> zeros(2 * 70 * 3 * 50 * 2);
  const auto many = examine_errors(TensorView::row_major(DType::float32, large, zeros.data()),
                                   TensorView::row_major(DType::float32, large, zeros.data()), {}, true);
  ASSERT_TRUE(many && many->planes);
  EXPECT_LE(many->planes->cells.size(), ErrorPlanes::kMostCells);
  EXPECT_EQ(many->planes->sizes, (std::vector<std::size_t>{2, 21, 3, 16, 2}));
}

TEST(ErrorDetails, counts_units_in_the_last_place) {
  const float one = 1, next = std::nextafter(1.0f, 2.0f), far = 1 + 5 * std::numeric_limits<float>::epsilon();
  const std::vector<float> golden{one, one, one, one, 0, NAN}, actual{one, next, far, INFINITY, 1e-45f, NAN};
  const auto details = examine_errors(view_of(actual, {6}), view_of(golden, {6}), {0, 0}, true);
  ASSERT_TRUE(details);
  ASSERT_TRUE(details->ulps);
  const UlpHistogram& ulps = *details->ulps;
  EXPECT_EQ(ulps[0], 2u);      // one, and NaN against NaN
  EXPECT_EQ(ulps[2], 2u);      // one unit: next, and the least subnormal number against zero
  EXPECT_EQ(ulps[4], 1u);      // five units
  EXPECT_EQ(ulps.back(), 1u);  // infinity
}

TEST(ErrorDetails, the_diagonal_of_the_scatter_is_what_agrees) {
  std::vector<float> golden(80), actual(80);
  for (std::size_t i = 0; i < golden.size(); ++i) golden[i] = actual[i] = static_cast<float>(i);
  actual[0] = 79;
  const auto details = examine_errors(view_of(actual, {80}), view_of(golden, {80}), {0, 0}, true);
  ASSERT_TRUE(details);
  constexpr std::size_t kCells = ErrorScatter::kCells;
  for (std::size_t row = 0; row < kCells; ++row)
    for (std::size_t column = 0; column < kCells; ++column) {
      const int expected = row == column ? (row == 0 ? 1 : 17) : row == kCells - 1 && column == 0 ? 1 : 0;
      EXPECT_EQ(details->scatter.cells[row * kCells + column], expected) << row << " " << column;
    }
}

TEST(ErrorDetails, marks_what_is_not_finite) {
  const std::vector<float> golden{1, NAN, INFINITY, 4}, actual{1, 2, INFINITY, NAN};
  const auto details = examine_errors(view_of(actual, {4}), view_of(golden, {4}), {0, 0}, true);
  ASSERT_TRUE(details);
  EXPECT_THAT(details->not_finite, testing::ElementsAre(0, golden_nan, golden_inf | actual_inf, actual_nan));
  const std::vector<float> finite{1, 2};
  EXPECT_TRUE(examine_errors(view_of(finite, {2}), view_of(finite, {2}), {0, 0}, true)->not_finite.empty());
}

TEST(ErrorDetails, nan_against_a_number_is_accepted_by_no_tolerance) {
  const std::vector<float> golden{1, 2, 3}, actual{1, NAN, 3};
  const auto details = examine_errors(view_of(actual, {3}), view_of(golden, {3}), {1, 1}, true);
  ASSERT_TRUE(details);
  EXPECT_EQ(details->scaled.back().value, kInf);
  EXPECT_TRUE(std::isnan(details->map.cells[1]));
  EXPECT_EQ(details->worst.at(0).index, 1u);
}

// Against sorting all errors.
TEST(ErrorDetails, quantiles_are_right_up_to_an_eighth_of_an_octave) {
  std::mt19937 random(1);
  std::lognormal_distribution<float> error(-8, 4);
  std::vector<float> golden(10000, 0), actual(10000);
  for (float& value : actual) value = error(random);
  const auto details =
      examine_errors(view_of(actual, {100, 100}), view_of(golden, {100, 100}), {0, 0.25}, false);
  ASSERT_TRUE(details);
  std::ranges::sort(actual);
  for (const ErrorQuantile& quantile : details->absolute) {
    const auto rank = static_cast<std::size_t>(std::ceil(quantile.share * 10000)) - 1;
    EXPECT_GE(quantile.value, actual[rank]) << quantile.share;
    EXPECT_LE(quantile.value, actual[rank] * 1.13) << quantile.share;
  }
  EXPECT_EQ(details->scaled.back().value, static_cast<double>(actual.back()) / 0.25);
  EXPECT_TRUE(details->map.cells.empty());
}

TEST(ErrorDetails, empty_scalar_and_vector_tensors_have_pictures) {
  const std::vector<float> golden(1000, 0), actual(1000, 1);
  const auto empty = examine_errors(view_of(actual, {0, 3}), view_of(golden, {0, 3}), {0, 0}, true);
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->map.cells.empty());
  const auto scalar = examine_errors(view_of(actual, {}), view_of(golden, {}), {0, 0}, true);
  ASSERT_TRUE(scalar);
  EXPECT_THAT(scalar->map.cells, testing::ElementsAre(1.0f));
  const auto vector = examine_errors(view_of(actual, {1000}), view_of(golden, {1000}), {0, 0}, true);
  ASSERT_TRUE(vector);
  EXPECT_EQ(vector->map.rows, 32u);
  EXPECT_EQ(vector->map.columns, 32u);
}

TEST(ErrorDetails, complex_elements_and_other_shapes_are_refused) {
  const std::vector<float> values(8);
  const auto complex = TensorView::row_major(DType::complex64, {4}, values.data());
  EXPECT_FALSE(examine_errors(complex, complex, {0, 0}, true));
  EXPECT_FALSE(examine_errors(view_of(values, {8}), view_of(values, {2, 4}), {0, 0}, true));
}

}  // namespace
}  // namespace opdump::math
