#include <gtest/gtest.h>

#include "model/dtype.h"
#include "model/format.h"
#include "model/frame.h"
#include "model/operator.h"
#include "model/shape.h"
#include "model/tensor_view.h"

namespace opdump::model {
namespace {

TEST(DType, TableIsInEnumOrderAndNamesAreFound) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DTypeInfo& row = dtype_info(static_cast<DType>(i));
    EXPECT_EQ(static_cast<int>(row.dtype), i);
    if (i == 0) continue;
    EXPECT_EQ(find_dtype(row.name), row.dtype);
    EXPECT_EQ(find_dtype(row.class_name), row.dtype);
  }
  EXPECT_EQ(find_dtype("FLOAT32"), std::nullopt);
  EXPECT_EQ(dtype_info(static_cast<DType>(200)).dtype, DType::undefined);
}

TEST(Format, NamesAndNumbers) {
  EXPECT_EQ(format_name(Format::nc1hwc0), "NC1HWC0");
  EXPECT_EQ(format_name(static_cast<Format>(25)), "C1HWNCoC0");
  EXPECT_EQ(format_name(static_cast<Format>(29)), "FRACTAL_NZ");
  EXPECT_EQ(format_name(static_cast<Format>(49)), "C1HWC0");
  EXPECT_EQ(format_name(static_cast<Format>(200)), "");
  for (int number = 0; number < 55; ++number)
    EXPECT_EQ(find_format(format_name(static_cast<Format>(number))), static_cast<Format>(number));
  EXPECT_EQ(find_format("MAX"), Format::max);
  EXPECT_EQ(find_format("nchw"), std::nullopt);
  EXPECT_EQ(find_format(""), std::nullopt);
}

TEST(Format, PackedNumbers) {
  const PackedFormat packed = unpack_format(0x05000204);
  EXPECT_EQ(packed.format, Format::fractal_z);
  EXPECT_EQ(packed.groups, 2);
  EXPECT_EQ(packed.c0, 16);
  EXPECT_EQ(unpack_format(3).c0, 0);
}

TEST(Shape, CountsAreChecked) {
  EXPECT_EQ(element_count({}), 1u);
  EXPECT_EQ(element_count({2, 3}), 6u);
  EXPECT_EQ(element_count({2, 0, INT64_MAX, INT64_MAX}), 0u);
  EXPECT_EQ(element_count({INT64_MAX, INT64_MAX, 0}), 0u);
  EXPECT_EQ(element_count({INT64_MAX, 2}), std::nullopt);
  EXPECT_EQ(element_count({-1}), std::nullopt);
}

TEST(Shape, LongShapesLiveOnTheHeap) {
  const Shape shape{1, 2, 3, 4, 5, 6, 7, 8};
  const Shape copy = shape;
  EXPECT_EQ(copy, shape);
  EXPECT_EQ(format_shape(copy), "(1,2,3,4,5,6,7,8)");
  EXPECT_EQ(format_shape({}), "()");
  EXPECT_EQ(format_shape({3}), "(3)");
  EXPECT_EQ(row_major_strides({2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(row_major_strides({0, INT64_MAX, INT64_MAX}).rank(), 3u);  // must not overflow a signed number
}

TEST(TensorView, LayoutsAreRecognised) {
  const float memory[2 * 3 * 4 * 5] = {};
  TensorView view = TensorView::row_major(DType::float32, {2, 3, 4, 5}, memory);
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_FALSE(view.is_channels_last());
  EXPECT_EQ(view.byte_count(), sizeof memory);
  view.strides = {60, 1, 15, 3};
  EXPECT_FALSE(view.is_contiguous());
  EXPECT_TRUE(view.is_channels_last());
  EXPECT_EQ(view.in_memory_order().shape, (Shape{2, 4, 5, 3}));
  view.strides = {60, 20, 5, 2};
  EXPECT_FALSE(view.is_contiguous());
  EXPECT_FALSE(view.is_channels_last());
  TensorView column = TensorView::row_major(DType::int4, {5, 1}, memory);
  column.strides = {1, 77};  // the stride of a size-1 dimension says nothing
  EXPECT_TRUE(column.is_contiguous());
  EXPECT_EQ(column.byte_count(), 3u);
}

TEST(Operator, NamesAndSources) {
  EXPECT_EQ(sanitise_name("Default/a.b c\\d-Conv2d/conv-op0"), "Default_a_b_c_d-Conv2d_conv-op0");
  Operator op;
  EXPECT_EQ(format_source(op), "");
  op.source_file = "train.py";
  op.source_line = 31;
  EXPECT_EQ(format_source(op), "train.py:31");
}

TEST(Operator, Frames) {
  const Frame frame{"a:b.py", 31, "Net.forward"};
  EXPECT_EQ(format_frame(frame), "a:b.py:31:Net.forward");
  for (const Frame& each :
       {frame, Frame{"train.py", 1, ""}, Frame{"x.cc", 7, "ns::f"}, Frame{"<stdin>", 0, "<lambda>"}})
    EXPECT_EQ(parse_frame(format_frame(each)), each) << format_frame(each);
  for (const char* text : {"", ":", "train.py", "train.py:31", "a:b:c", "a:-1:f", "a:99999999999:f"})
    EXPECT_EQ(parse_frame(text), std::nullopt) << text;
}

TEST(TensorView, DenseInAnyOrderOfDimensions) {
  const auto view = [](Shape shape, Shape strides) {
    return TensorView{DType::float32, std::move(shape), std::move(strides), nullptr};
  };
  EXPECT_TRUE(view({2, 3, 4}, {12, 4, 1}).is_dense());
  EXPECT_TRUE(view({4, 2, 3}, {1, 12, 4}).is_dense());
  EXPECT_TRUE(view({3, 1, 4}, {1, 99, 3}).is_dense());
  EXPECT_TRUE(view({}, {}).is_dense());
  EXPECT_TRUE(view({0, 3}, {7, 9}).is_dense());
  EXPECT_FALSE(view({2, 3}, {4, 1}).is_dense()) << "holes";
  EXPECT_FALSE(view({2, 3}, {0, 1}).is_dense()) << "the same places twice";
  EXPECT_FALSE(view({2, 2}, {1, 1}).is_dense()) << "overlapping";
  EXPECT_FALSE(view({3}, {-1}).is_dense()) << "does not begin at the lowest place";
  EXPECT_FALSE(view({2, 3}, {6, 2}).is_dense());
}

TEST(Frame, TheUsersIsTheFirstOfNoPackage) {
  const std::vector<Frame> stack{{"/usr/lib/python3/dist-packages/torch/nn/modules/module.py", 1, "call"},
                                 {"/usr/lib/python3.11/threading.py", 2, "run"},
                                 {"/home/me/train.py", 3, "main"}};
  EXPECT_EQ(find_user_frame(stack), &stack[2]);
  EXPECT_EQ(find_user_frame(std::span(stack).first(2)), nullptr);
}

}  // namespace
}  // namespace opdump::model
