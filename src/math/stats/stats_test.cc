#include "math/stats/stats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "math/test_tensors.h"

namespace opdump::math {
namespace {

using model::DType;
using model::Shape;
using model::TensorView;

constexpr StatNeeds kAll{true, true, true, true};

// Equal, or as near as sums taken in another order can be; `scale` is the sum of the magnitudes.
void expect_sum(double actual, double expected, double scale) {
  if (std::isfinite(expected))
    EXPECT_NEAR(actual, expected, 1e-12 * scale);
  else
    EXPECT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected)))
        << actual << " " << expected;
}

void expect_same_value(double actual, double expected) {
  EXPECT_EQ(actual, expected);
  EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << actual;
}

void expect_same(const StatPartial& actual, const StatPartial& expected) {
  expect_same_value(actual.max, expected.max);
  expect_same_value(actual.min, expected.min);
  // |x| <= 1 + x^2
  expect_sum(actual.sum, expected.sum, static_cast<double>(expected.count) + expected.squares);
  expect_sum(actual.squares, expected.squares, expected.squares);
  EXPECT_EQ(actual.count, expected.count);
  EXPECT_EQ(actual.negative_count, expected.negative_count);
  EXPECT_EQ(actual.positive_count, expected.positive_count);
  EXPECT_EQ(actual.zero_count, expected.zero_count);
  EXPECT_EQ(actual.nan_count, expected.nan_count);
  EXPECT_EQ(actual.negative_inf_count, expected.negative_inf_count);
  EXPECT_EQ(actual.positive_inf_count, expected.positive_inf_count);
  EXPECT_EQ(actual.has_nan, expected.has_nan);
  EXPECT_EQ(actual.has_nan && actual.nan_negative, expected.has_nan && expected.nan_negative);
}

class EveryDType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Stats, EveryDType, testing::ValuesIn(kStatDTypes),
                         [](const auto& info) { return std::string(model::dtype_info(info.param).name); });

TEST_P(EveryDType, FastPassAgreesWithTheReference) {
  for_each_tensor(GetParam(), [](const std::string& name, const TensorView& view) {
    SCOPED_TRACE(name);
    const StatPartial expected = partial_stats_reference(view, kAll);
    for_each_instruction_set([&] { expect_same(partial_stats(view, kAll), expected); });
  });
}

TEST_P(EveryDType, WhatIsNotAskedForIsLeftAtItsStart) {
  std::mt19937_64 random(1);
  const std::vector<std::byte> memory = random_memory(GetParam(), ElementKind::everything, 5000, random);
  const TensorView view = TensorView::row_major(GetParam(), {5000}, memory.data());
  for (int bits = 0; bits < 64; ++bits) {
    SCOPED_TRACE(bits);
    const StatNeeds needs{(bits & 1) != 0, (bits & 2) != 0,  (bits & 4) != 0,
                          (bits & 8) != 0, (bits & 16) != 0, (bits & 32) != 0};
    const bool counts_special = needs.counts || needs.special_counts;
    const StatPartial all = partial_stats(view, kAll), start = make_partial();
    const StatPartial actual = partial_stats(view, needs);
    const auto expect_bits = [](double value, double expected) {
      if (std::isnan(expected))  // which NaN a sum becomes is the compiler's choice
        EXPECT_TRUE(std::isnan(value)) << value;
      else
        EXPECT_EQ(std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(expected));
    };
    expect_bits(actual.max, needs.extremes ? all.max : start.max);
    expect_bits(actual.min, needs.extremes ? all.min : start.min);
    expect_bits(actual.sum, needs.sum ? all.sum : 0);
    expect_bits(actual.squares, needs.squares ? all.squares : 0);
    EXPECT_EQ(actual.zero_count, needs.counts || needs.zero_count ? all.zero_count : 0);
    EXPECT_EQ(actual.negative_count, needs.counts ? all.negative_count : 0);
    EXPECT_EQ(actual.positive_count, needs.counts ? all.positive_count : 0);
    EXPECT_EQ(actual.nan_count, counts_special ? all.nan_count : 0);
    EXPECT_EQ(actual.negative_inf_count, counts_special ? all.negative_inf_count : 0);
    EXPECT_EQ(actual.positive_inf_count, counts_special ? all.positive_inf_count : 0);
    EXPECT_EQ(actual.count, all.count);
    EXPECT_EQ(actual.has_nan, bits != 0 && all.has_nan);
    EXPECT_EQ(actual.nan_negative, bits != 0 && all.nan_negative);
  }
}

TEST_P(EveryDType, PiecesMergeToTheWhole) {
  for_each_tensor(GetParam(), [](const std::string& name, const TensorView& view) {
    SCOPED_TRACE(name);
    StatPartial whole = make_partial();
    std::uint64_t count = 0;
    for (const TensorView& piece : split_view(view, 1000)) {
      count += piece.element_count();
      merge(whole, partial_stats(piece, kAll));
    }
    EXPECT_EQ(count, view.element_count());
    StatPartial expected = partial_stats(view, kAll);
    if (!view.is_contiguous()) {  // pieces may come in memory order, which decides signs
      whole.nan_negative = expected.nan_negative;
      if (whole.max == 0) whole.max = expected.max;
      if (whole.min == 0) whole.min = expected.min;
    }
    expect_same(whole, expected);
  });
}

TEST(Split, PiecesHaveAboutTheWantedSize) {
  const std::vector<std::byte> memory(64 * 100 * 100 * sizeof(float));
  const TensorView view = TensorView::row_major(DType::float32, {1, 2, 1000, 100}, memory.data());
  const std::vector<TensorView> pieces = split_view(view, 100000);
  EXPECT_GE(pieces.size(), 8u);
  EXPECT_LE(pieces.size(), 10u);
  for (const TensorView& piece : pieces) EXPECT_LE(piece.byte_count(), 100000u);
  EXPECT_EQ(split_view(view, 800000).size(), 1u);
  EXPECT_EQ(split_view(TensorView::row_major(DType::int4, {1000}, memory.data()), 10).size(), 1u);
  EXPECT_EQ(split_view(TensorView::row_major(DType::int8, {3}, memory.data()), 0).size(), 3u);
  TensorView channels_last{DType::float32, {1, 64, 100, 100}, {640000, 1, 6400, 64}, memory.data()};
  for (const TensorView& piece : split_view(channels_last, 1 << 20)) EXPECT_TRUE(piece.is_contiguous());
}

Statistics stats_of(const std::vector<float>& values) {
  return finish(partial_stats(
      TensorView::row_major(DType::float32, {static_cast<std::int64_t>(values.size())}, values.data()),
      kAll));
}

TEST(Finish, PrintsWhatTheOriginalPrints) {
  EXPECT_EQ(format_g(stats_of({1, 2, 3, 4, 5, 6}).l2norm), "9.53939");
  EXPECT_EQ(format_g(stats_of({7, 8, 9, 10, 11, 12}).l2norm), "23.6432");
  EXPECT_EQ(format_g(stats_of({8, 10, 12, 14, 16, 18}).l2norm), "32.9242");
}

#if defined(__x86_64__)
constexpr const char* kHardwareNan = "-nan";
#else
constexpr const char* kHardwareNan = "nan";
#endif

TEST(Finish, NanKeepsItsSign) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const Statistics positive = stats_of({1, nan, -nan}), negative = stats_of({1, -nan, nan});
  for (const double Statistics::*field :
       {&Statistics::max, &Statistics::min, &Statistics::avg, &Statistics::l2norm}) {
    EXPECT_EQ(format_g(positive.*field), "nan");
    EXPECT_EQ(format_g(negative.*field), "-nan");
  }
  EXPECT_EQ(format_g(stats_of({inf, 1, -inf}).avg), kHardwareNan);
  EXPECT_EQ(format_g(stats_of({inf, 1, -inf}).l2norm), "inf");
}

TEST(Finish, Empty) {
  const Statistics empty = stats_of({});
  EXPECT_EQ(format_g(empty.max), "-inf");
  EXPECT_EQ(format_g(empty.min), "inf");
  EXPECT_EQ(format_g(empty.avg), kHardwareNan);
  EXPECT_EQ(format_g(empty.l2norm), "0");
}

TEST(Finish, TheFirstZeroGivesItsSign) {
  EXPECT_EQ(format_g(stats_of({-1, -0.0f, 0.0f}).max), "-0");
  EXPECT_EQ(format_g(stats_of({-1, 0.0f, -0.0f}).max), "0");
  EXPECT_EQ(format_g(stats_of({1, -0.0f, 0.0f}).min), "-0");
}

TEST(Stats, OverflowingSquaresOfFloat64) {
  const double values[] = {1e200, -1e200, 1e308, 1e308};
  const TensorView view = TensorView::row_major(DType::float64, {4}, values);
  const Statistics stats = finish(partial_stats(view, kAll));
  EXPECT_EQ(stats.l2norm, std::numeric_limits<double>::infinity());
  EXPECT_EQ(stats.avg, std::numeric_limits<double>::infinity());
  EXPECT_EQ(stats.nan_count, 0u);
}

TEST(Stats, KnownForTheArithmeticDTypesOnly) {
  for (const DType dtype : kStatDTypes) EXPECT_TRUE(has_statistics(dtype));
  for (const DType dtype : {DType::undefined, DType::complex64, DType::complex128, DType::float8_e4m3,
                            DType::float8_e5m2, DType::hifloat8, DType::float4_e2m1, DType::complex32})
    EXPECT_FALSE(has_statistics(dtype));
}

#if defined(__x86_64__)
TEST(Stats, TheHostsFloatSettingsNeitherMatterNorChange) {
  const std::vector<float> values(100, 1e-40f);
  const unsigned saved = __builtin_ia32_stmxcsr();
  const unsigned flush_and_trap = 0x9fc0 & ~0x80u;  // subnormals are zero; invalid operations trap
  __builtin_ia32_ldmxcsr(flush_and_trap);
  const Statistics stats = stats_of(values);
  const unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(saved);
  EXPECT_EQ(stats.positive_count, 100u);
  EXPECT_GT(stats.max, 0);
  EXPECT_EQ(after, flush_and_trap);
}
#endif

double number(const nlohmann::json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

// The sign of a NaN is not in the reference numbers.
std::string text_without_nan_sign(double value) { return std::isnan(value) ? "nan" : format_g(value); }

void expect_original(const Statistics& stats, const nlohmann::json& want) {
  EXPECT_EQ(text_without_nan_sign(stats.max), format_g(number(want["max_vaue"])));
  EXPECT_EQ(text_without_nan_sign(stats.min), format_g(number(want["min_value"])));
  EXPECT_EQ(text_without_nan_sign(stats.avg), format_g(number(want["avg_value"])));
  EXPECT_EQ(stats.count, want["count"]);
  EXPECT_EQ(stats.negative_count, want["neg_zero_count"]);
  EXPECT_EQ(stats.positive_count, want["pos_zero_count"]);
  EXPECT_EQ(stats.zero_count, want["zero_count"]);
  EXPECT_EQ(stats.nan_count, want["nan_count"]);
  EXPECT_EQ(stats.negative_inf_count, want["neg_inf_count"]);
  EXPECT_EQ(stats.positive_inf_count, want["pos_inf_count"]);
}

TEST(Stats, ReferenceNumbersOfTheOriginal) {
  const std::string folder = OPDUMP_SOURCE_DIR "/../shared/testdata/mindspore/";
  std::ifstream inputs_file(folder + "base_stat_inputs.json");
  if (!inputs_file) GTEST_SKIP() << "no reference data";
  const nlohmann::json inputs = nlohmann::json::parse(inputs_file);
  std::ifstream golden_file(folder + inputs["expected"]["current semantics"].get<std::string>());
  ASSERT_TRUE(golden_file);
  int compared = 0;
  for (const nlohmann::json& item : nlohmann::json::parse(golden_file))
    for (const nlohmann::json& tensor : inputs["tensors"]) {
      const nlohmann::json& test = item.begin().value();
      if (tensor["node"] != test["tensor_info"]["node_name"]) continue;
      SCOPED_TRACE(tensor["node"]);
      std::vector<float> values;
      for (const nlohmann::json& value : tensor["values"])
        values.push_back(static_cast<float>(number(value)));
      expect_original(stats_of(values), test["tensor_stat_info"]);
      ++compared;
    }
  EXPECT_EQ(compared, 3);
}

}  // namespace
}  // namespace opdump::math
