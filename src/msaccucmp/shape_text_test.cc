#include "msaccucmp/shape_text.h"

#include <gtest/gtest.h>

namespace opdump::msaccucmp {
namespace {

TEST(ShapeText, OfTheOriginalAndOfNumPy) {
  EXPECT_EQ(shape_text({2, 3}), "(2, 3)");
  EXPECT_EQ(shape_text({4}), "(4)");
  EXPECT_EQ(tuple_text({4}), "(4,)");
  EXPECT_EQ(tuple_text({2, 3}), "(2, 3)");
  EXPECT_EQ(numpy_shape({2, 3}), "(2,3)");
  EXPECT_EQ(numpy_shape({4}), "(4,)");
  EXPECT_EQ(numpy_shape({}), "()");
  EXPECT_EQ(shape_cell({2, 3}), "[2,3]");
  EXPECT_EQ(shape_cell({}), "[]");
  EXPECT_EQ(joined_shape({1, 2, 3}, "x"), "1x2x3");
  EXPECT_EQ(cannot_reshape(5, {2, 3}), "cannot reshape array of size 5 into shape (2,3)");
}

}  // namespace
}  // namespace opdump::msaccucmp
