#include "msaccucmp/judge/element_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace opdump::msaccucmp {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

TensorData floats(const std::vector<float>& values) {
  return {model::DType::float32,
          {static_cast<std::int64_t>(values.size())},
          reinterpret_cast<const std::byte*>(values.data()),
          nullptr};
}

TEST(ElementErrors, EqualErrorsAreThoseThatNumpyChooses) {
  // numpy.argpartition(numpy.zeros(320), -3)[-3:]
  const std::vector<double> zeros(320);
  EXPECT_THAT(largest_positions(zeros, 3, ErrorType::wide), UnorderedElementsAre(108, 107, 319));
  const std::vector<double> few = {1, 3, 2, 3};
  EXPECT_THAT(largest_positions(few, 1, ErrorType::wide), ElementsAre(3));
  const std::vector<double> more = {2, 0, 2, 1, 2, 0};  // as float32, and as float16 or int64
  EXPECT_THAT(largest_positions(more, 1, ErrorType::wide), ElementsAre(4));
  EXPECT_THAT(largest_positions(more, 1, ErrorType::narrow), ElementsAre(2));
  EXPECT_THAT(largest_positions(few, 2, ErrorType::wide), UnorderedElementsAre(1, 3));
  EXPECT_THAT(largest_positions(few, 0, ErrorType::wide), UnorderedElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(largest_positions({}, 3, ErrorType::wide).empty());
}

TEST(ElementErrors, LargestOfManyValues) {
  std::vector<double> values(10007);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7919 % 10007);
  std::vector<std::size_t> top = largest_positions(values, 50, ErrorType::wide);
  ASSERT_EQ(top.size(), 50U);
  EXPECT_TRUE(std::ranges::all_of(top, [&](std::size_t i) { return values[i] >= 10007 - 50; }));
}

TEST(ElementErrors, FewerElementsThanAskedForGiveOneLess) {
  const std::vector<float> mine = {1, 2, 4}, golden = {1, 1, 1};
  const TensorData a = floats(mine), b = floats(golden);
  const ErrorSummary summary = summarise(ElementErrors(a, b), 20);
  EXPECT_THAT(summary.top_absolute, ElementsAre(2, 1));
  EXPECT_EQ(summary.most_relative, 3);
  EXPECT_EQ(summary.least_absolute, 0);
}

TEST(ElementErrors, WithoutANumberStandsWhereItStandsInPython) {
  // numpy.argpartition and sorted leave in this order 12 and 40 elements, of which some are 0/0.
  const std::vector<float> mine = {0, 1, 2, 0, 3, 5, 0, 2, 1, 4, 0, 6},
                           golden = {0, 1.5, 0, 0, 2, 5, 1, 0, 1, 4, 0, 0};
  const TensorData a = floats(mine), b = floats(golden);
  const ErrorSummary summary = summarise(ElementErrors(a, b), 20);
  EXPECT_THAT(summary.top_absolute, ElementsAre(11, 7, 2, 6, 4, 1, 10, 9, 8, 5, 3));
  EXPECT_THAT(summary.top_relative, ElementsAre(2, 3, 6, 4, 1, 7, 9, 8, 5, 10, 11));
  const std::vector<float> more = {1, 0, 2, 0, 3, 3, 3, 3, 1, 0, 3, 0, 3, 3, 0, 3, 2, 1, 0, 2,
                                   0, 0, 0, 0, 3, 1, 3, 0, 1, 3, 3, 1, 2, 1, 1, 3, 2, 0, 3, 0},
                           wanted = {1, 2, 0, 2, 3, 1, 2, 2, 3, 3, 0, 3, 1, 3, 3, 1, 2, 2, 0, 3,
                                     0, 1, 3, 2, 3, 0, 3, 0, 2, 3, 1, 1, 1, 0, 1, 1, 3, 2, 2, 3};
  const TensorData c = floats(more), d = floats(wanted);
  EXPECT_THAT(summarise(ElementErrors(c, d), 30).top_relative,
              ElementsAre(2, 33, 35, 30, 15, 12, 5, 39, 37, 32, 23, 22, 21, 14, 11, 9, 3, 1, 8, 38, 28, 17, 7,
                          6, 36, 19, 31, 16, 4, 0));
}

TEST(ElementErrors, WhatIsNoNumberIsNoError) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> mine = {1, inf, 0, NAN}, golden = {0, 1, 0, 1};
  const TensorData a = floats(mine), b = floats(golden);
  std::vector<ElementError> errors(4);
  ElementErrors(a, b).read(0, errors);
  EXPECT_EQ(errors[0].absolute, 1);
  EXPECT_TRUE(std::isnan(errors[0].relative));
  EXPECT_TRUE(std::isnan(errors[1].absolute));
  EXPECT_TRUE(std::isnan(errors[2].relative));
  EXPECT_TRUE(std::isnan(errors[3].absolute));
}

TEST(ElementErrors, HalvesRoundToHalves) {
  const std::vector<std::uint16_t> mine = {0x3C01}, golden = {0x4200};  // 1.0009765625 and 3
  const auto half = [](const std::vector<std::uint16_t>& bits) {
    return TensorData{model::DType::float16, {1}, reinterpret_cast<const std::byte*>(bits.data()), nullptr};
  };
  const TensorData a = half(mine), b = half(golden);
  std::vector<ElementError> errors(1);
  ElementErrors(a, b).read(0, errors);
  EXPECT_EQ(errors[0].absolute, 2 - 0.0009765625);
  EXPECT_EQ(errors[0].relative, 0.66650390625);  // numpy.float16(1.999) / numpy.float16(3)
}

}  // namespace
}  // namespace opdump::msaccucmp
