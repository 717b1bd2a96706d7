#include "msaccucmp/judge/layout_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace opdump::msaccucmp {
namespace {

using model::DType;
using model::Format;
using model::Shape;
using testing::ElementsAre;

TensorData data_of(const std::vector<float>& values, const Shape& shape) {
  return {DType::float32, shape, reinterpret_cast<const std::byte*>(values.data()), nullptr};
}

std::vector<float> values_of(const TensorData& data) {
  const auto* first = reinterpret_cast<const float*>(data.bytes);
  return {first, first + data.count()};
}

TEST(Padding, IsCutAsNumPyDoes) {
  EXPECT_EQ(cut_padding(16, 16), 16);
  EXPECT_EQ(cut_padding(5, 16), 5);
  EXPECT_EQ(cut_padding(-1, 16), 0);
  EXPECT_EQ(cut_padding(20, 16), 4);  // array[:4]
  EXPECT_EQ(cut_padding(40, 16), 16);
}

TEST(Shapes, WithAndWithoutOnes) {
  EXPECT_EQ(without_ones({1, 2, 1, 3}), Shape({2, 3}));
  EXPECT_EQ(without_ones({1, 1}), Shape({1, 1}));
  EXPECT_EQ(padded({2}, 3), Shape({2, 1, 1}));
  EXPECT_EQ(padded({2, 3}, 1), Shape({2, 3}));
}

TEST(LayoutChanges, OfTheOriginal) {
  EXPECT_TRUE(is_builtin_change(Format::nc1hwc0, Format::nchw));
  EXPECT_TRUE(is_builtin_change(Format::fractal_nz, Format::nd));
  EXPECT_FALSE(is_builtin_change(Format::nchw, Format::nc1hwc0));
}

TEST(LayoutChanges, MoveElements) {
  const std::vector<float> values = {0, 1, 2, 3, 4, 5};
  Log log;
  const auto changed = change_layout({Format::nhwc, Format::nchw, {1, 1, 3, 2}, {}, 0},
                                     data_of(values, {1, 1, 3, 2}), nullptr, log);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->shape, Shape({1, 2, 1, 3}));
  EXPECT_THAT(values_of(*changed), ElementsAre(0, 2, 4, 1, 3, 5));
}

TEST(LayoutChanges, ThatNobodyKnowsAreLogged) {
  Log log;
  const auto changed = change_layout({Format::nchw, Format::nc1hwc0, {}, {}, 0}, TensorData(), nullptr, log);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().status, Status::invalid_format);
  EXPECT_EQ(log.lines().back().text, "Not supported from NCHW to NC1HWC0.");
}

TEST(LayoutChanges, OfWrongShapesFail) {
  const std::vector<float> values(6);
  Log log;
  const auto changed =
      change_layout({Format::nhwc, Format::nchw, {1, 1, 3, 3}, {}, 0}, data_of(values, {6}), nullptr, log);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().status, Status::convert_function);
}

TEST(LayoutChanges, OfAUserComeFirst) {
  Log log;
  const auto changed = change_layout(
      {Format::nhwc, Format::nchw, {1}, {}, 0}, TensorData(),
      [](const LayoutRequest&, const TensorData& data, Log&) -> std::optional<Outcome<TensorData>> {
        TensorData made = data;
        made.shape = {7};
        return Outcome<TensorData>(made);
      },
      log);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->shape, Shape({7}));
}

TEST(Data, IsReshapedAndCropped) {
  const std::vector<float> values = {0, 1, 2, 3, 4, 5};
  Log log;
  EXPECT_FALSE(reshaped(data_of(values, {6}), {4}, log));
  EXPECT_EQ(log.lines().back().text, "The length(6) is not match with the shape (4).");
  const auto matrix = reshaped(data_of(values, {6}), {2, 3}, log);
  ASSERT_TRUE(matrix);
  const auto corner = cropped(*matrix, {2, 2}, log);
  ASSERT_TRUE(corner);
  EXPECT_THAT(values_of(*corner), ElementsAre(0, 1, 3, 4));
}

}  // namespace
}  // namespace opdump::msaccucmp
