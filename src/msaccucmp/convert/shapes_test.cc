#include "msaccucmp/convert/shapes.h"

#include <gtest/gtest.h>

#include "msaccucmp/convert/cut.h"

namespace opdump::msaccucmp {
namespace {

using model::Format;
using model::Shape;

class ChangedShapes : public testing::Test {
 protected:
  Result<arrays::LayoutChange> change(Format from, Format to, const Shape& stored, const Shape& wanted = {},
                                      std::int64_t groups = 1) {
    const auto count = model::element_count(stored).value_or(0);
    return shapes_of_change({from, to, stored, wanted, groups}, count, false, log_);
  }
  std::string error(Format from, Format to, const Shape& stored, const Shape& wanted = {}) {
    const auto made = change(from, to, stored, wanted);
    return made ? "" : made.error().message();
  }
  Log log_;
};

TEST_F(ChangedShapes, OfBlocksOfChannels) {
  const auto made = change(Format::nc1hwc0, Format::nhwc, {2, 3, 4, 5, 16});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->made, Shape({2, 4, 5, 48}));
  EXPECT_EQ(made->result, made->made);
  EXPECT_EQ(error(Format::nc1hwc0, Format::nchw, {2, 3, 4, 5}), "list index out of range");
}

TEST_F(ChangedShapes, OfPlainLayouts) {
  EXPECT_EQ(change(Format::nhwc, Format::hwcn, {2, 3, 4, 5})->made, Shape({3, 4, 5, 2}));
  EXPECT_EQ(change(Format::hwcn, Format::nchw, {2, 3, 4, 5})->made, Shape({5, 4, 2, 3}));
}

TEST_F(ChangedShapes, OfFiltersAreCut) {
  const auto made = change(Format::fractal_z, Format::nchw, {4, 1, 16, 16}, {10, 3, 2, 2});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->made, Shape({16, 16, 2, 2}));
  EXPECT_EQ(made->result, Shape({10, 3, 2, 2}));
  EXPECT_EQ(error(Format::fractal_z, Format::nchw, {4, 1, 16, 16}, {10, 3, 0, 2}),
            "integer division or modulo by zero");
  EXPECT_EQ(error(Format::fractal_z, Format::nchw, {4, 1, 16, 16}, {}), "list index out of range");
}

TEST_F(ChangedShapes, OfMatricesAreCut) {
  const auto made = change(Format::fractal_nz, Format::nd, {2, 3, 16, 16}, {40, 30});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->made, Shape({48, 32}));
  EXPECT_EQ(made->result, Shape({40, 30}));
}

TEST_F(ChangedShapes, ThatOverflowAreRefused) {
  EXPECT_EQ(error(Format::nhwc, Format::nchw, {INT64_MAX, 2, 1, 1}), "Maximum allowed dimension exceeded");
}

TEST_F(ChangedShapes, NeedAsManyElements) {
  const auto made = shapes_of_change({Format::nhwc, Format::nchw, {1, 2, 3, 4}, {}, 1}, 23, false, log_);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message(), "cannot reshape array of size 23 into shape (1,2,3,4)");
}

TEST_F(ChangedShapes, AreCutDimensionByDimension) {
  EXPECT_EQ(cut_shape({1, 16, 4, 4}, {1, 3, 4, 4}, log_), Shape({1, 3, 4, 4}));
  EXPECT_EQ(cut_shape({1, 3, 4, 4}, {1, 16, 4, 4}, log_), std::nullopt);
  EXPECT_EQ(cut_shape({4, 4}, {4, 4}, log_), Shape({4, 4}));
  EXPECT_EQ(cut_shape({4}, {1, 4}, log_), Shape({4}));
  EXPECT_TRUE(log_.empty());
  EXPECT_EQ(cut_shape({4}, {2, 2}, log_), std::nullopt);
  EXPECT_FALSE(log_.empty());
}

TEST(SavedOrder, IsThatOfNumPyViews) {
  arrays::LayoutChange change{Format::nhwc, Format::nchw, {1, 1, 1, 8}, {1, 8, 1, 1}, {1, 8, 1, 1}, 1};
  EXPECT_FALSE(is_saved_as_fortran(change));  // both orders: C is meant
  change = {Format::hwcn, Format::nhwc, {3, 1, 1, 2}, {2, 3, 1, 1}, {2, 3, 1, 1}, 1};
  EXPECT_TRUE(is_saved_as_fortran(change));
  change.result = {2, 0, 1, 1};
  EXPECT_FALSE(is_saved_as_fortran(change));
}

}  // namespace
}  // namespace opdump::msaccucmp
