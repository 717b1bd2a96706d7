#include "blame/inputs/dummy_data.h"

#include <gtest/gtest.h>

#include <vector>

#include "compare/wiring/content.h"

namespace opdump::blame {
namespace {

struct Tensor {
  model::Shape shape;
  std::vector<float> values;
};

std::string describe(const Tensor& golden, const Tensor& actual) {
  dump::Slot slots[2];
  std::vector<std::uint64_t> elements[2];
  for (const bool is_actual : {false, true}) {
    const Tensor& tensor = is_actual ? actual : golden;
    slots[is_actual].dtype = model::DType::float32;
    slots[is_actual].shape = tensor.shape;
    elements[is_actual] = compare::hash_elements(
        model::TensorView::row_major(model::DType::float32, tensor.shape, tensor.values.data()));
  }
  return describe_dummy(slots[0], elements[0], slots[1], elements[1]);
}

const Tensor kData = {{2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}};

TEST(DummyData, OneValue) {
  EXPECT_EQ(describe(kData, {{2, 4}, std::vector<float>(8, 0)}),
            ", and it is all zero in actual: never filled, or a profiling run?");
  EXPECT_EQ(describe({{2, 4}, std::vector<float>(8, 1)}, kData),
            ", and all its elements are the same in golden: never filled, or a profiling run?");
  EXPECT_EQ(describe(kData, {{3, 4}, std::vector<float>(12, 0)}),
            ", and it is all zero in actual: never filled, or a profiling run?");
}

TEST(DummyData, ZerosWhereTheyDiffer) {
  EXPECT_EQ(describe(kData, {{2, 4}, {1, 2, 3, 0, 5, 6, 7, 0}}),
            ", and where they differ it is zero in actual: padding or a mask?");
  EXPECT_EQ(describe({{2, 4}, {1, 2, 3, 4, 0, 0, 0, 0}}, kData),
            ", and where they differ it is zero in golden: padding or a mask?");
  EXPECT_EQ(describe(kData, {{2, 4}, {1, 2, 3, -0.0F, 5, 6, 7, 0}}),
            ", and where they differ it is zero in actual: padding or a mask?");
  EXPECT_EQ(describe(kData, {{2, 4}, {1, 2, 3, 0, 5, 6, 7, 9}}), "");
}

TEST(DummyData, PaddingOnAnyAxis) {
  EXPECT_EQ(describe(kData, {{3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0}}),
            ", and golden's is the first part of actual's; the rest is zero: padding");
  EXPECT_EQ(
      describe({{4, 5}, {1, 2, 3, 4, -1, 5, 6, 7, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}}, kData),
      ", and actual's is the first part of golden's; the rest has one value: padding");
  EXPECT_EQ(describe(kData, {{2, 5}, {1, 2, 3, 4, 9, 5, 6, 7, 8, 10}}),
            ", and golden's is the first part of actual's");
  EXPECT_EQ(describe(kData, {{2, 5}, {1, 2, 3, 4, 0, 5, 6, 0, 8, 0}}), "");
  EXPECT_EQ(describe(kData, {{8}, kData.values}), "");
  EXPECT_EQ(describe(kData, {{2, 3}, {1, 2, 3, 5, 6, 7}}), ", and actual's is the first part of golden's");
}

TEST(DummyData, NothingToLookAt) {
  dump::Slot slot;
  EXPECT_EQ(describe_dummy(slot, {}, slot, {}), "");
  slot.shape = model::Shape{2, 4};
  slot.dtype = model::DType::int4;  // two elements to a byte
  const std::vector<std::uint64_t> bytes(4, 1), others(4, 2);
  EXPECT_EQ(describe_dummy(slot, bytes, slot, others), "");
}

}  // namespace
}  // namespace opdump::blame
