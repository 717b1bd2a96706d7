#include "dump/file_name.h"

#include <gtest/gtest.h>

#include <tuple>

namespace opdump::dump {
namespace {

TEST(FileName, Bytes) {
  const FileName name{"Add", "Default_Add-op0", 0,        3, 1733905446819790, model::Side::output,
                      2,     "DefaultFormat",   "float32"};
  EXPECT_EQ(format_file_name(name),
            "Add.Default_Add-op0.0.3.1733905446819790.output.2.DefaultFormat.float32.npy");
}

TEST(FileName, ReadsEightAndNineFieldsAndDotsInTheType) {
  for (const std::string_view text :
       {"Add.Default_Add-op0.0.0.1733905446819790.input.0.DefaultFormat.float32.npy",
        "Add.Default_Add-op0.0.0.1733905446819790.input.0.DefaultFormat.npy",
        "aten.add.Tensor.Default_x-op0.0.7.1.output.3.FRACTAL_NZ.bfloat16.npy",
        "Parameter.fc1_weight.0.0.1733905446819790.output.0.DefaultFormat.Float32.npy",
        "input.output.0.0.0.input.4294967295.output.input.npy"}) {
    const auto name = parse_file_name(text);
    ASSERT_TRUE(name) << text;
    EXPECT_EQ(format_file_name(*name), text);
  }
  const auto name = parse_file_name("aten.add.Tensor.Default_x-op0.0.7.1.output.3.FRACTAL_NZ.bfloat16.npy");
  EXPECT_EQ(name->type, "aten.add.Tensor");
  EXPECT_EQ(name->name, "Default_x-op0");
  EXPECT_EQ(name->stream, 7);
  EXPECT_EQ(name->index, 3u);
  EXPECT_EQ(name->format, "FRACTAL_NZ");
  EXPECT_EQ(name->dtype, "bfloat16");
}

TEST(FileName, OtherFilesAreNotNames) {
  for (const std::string_view text :
       {"", ".npy", "1234.npy", "statistic.csv", "a.npy", "Add.n.0.0.1.input.0.DefaultFormat.float32",
        "Add.n.0.0.1.input.4294967296.F.npy", "Add.n.x.0.1.input.0.F.npy", ".n.0.0.1.input.0.F.npy",
        "n.0.0.1.input.0.F.npy", "Add.n.0.0.1.sideways.0.F.d.npy", "Add.n.0.0..input.0.F.npy"})
    EXPECT_FALSE(parse_file_name(text)) << text;
}

TEST(FileName, NoNameMakesAPathOrBreaksARow) {
  model::Operator op;
  op.type = "../../a,b\"\n.add";
  op.name = "Default/x.y z\\w,\t";
  EXPECT_EQ(file_type(op), ".._.._a_b__.add");
  EXPECT_EQ(file_op_name(op), "Default_x_y_z_w__");
  EXPECT_EQ(file_type(model::Operator{}), "_");
  EXPECT_EQ(file_op_name(model::Operator{}), "_");
}

TEST(FileName, PlainNamesAreThoseOfCann) {
  EXPECT_EQ(plain_name("Default/a.b:c d/Add-op0"), "Default_a_b_c_d_Add-op0");
  EXPECT_EQ(plain_name("aten::add.Tensor"), "aten__add_Tensor");
  EXPECT_EQ(plain_name("\xc3\xa4"), "__");
  EXPECT_EQ(plain_name(""), "_");
}

TEST(FileName, Calls) {
  EXPECT_EQ(format_call_name({"Add", "Default_Add-op0", 8, 2, 1733905446819790}),
            "Add.Default_Add-op0.8.2.1733905446819790");
  struct Case {
    std::string_view text;
    std::uint64_t task;
    std::int64_t stream;
    std::uint64_t timestamp_us;
  };
  for (const Case& c :
       {Case{"Add.n.8.2.1733905446819790", 8, 2, 1733905446819790}, Case{"Add.n.8.17", 8, 0, 17},
        Case{"Add.partition0_Add.0.3.1673383728093446.4.1.0.0", 0, 3, 1673383728093446}}) {
    const auto name = parse_call_name(c.text);
    ASSERT_TRUE(name) << c.text;
    EXPECT_EQ(name->type, "Add");
    EXPECT_EQ(std::tuple(name->task, name->stream, name->timestamp_us),
              std::tuple(c.task, c.stream, c.timestamp_us));
  }
  for (const char* text :
       {"", "Add", "Add.n", "Add.n.1", ".n.1.2.3", "Add..1.2.3", "Add.n.1.x.3", "Add.n.1.2.3.npy",
        "Add.n.1.2.3.4.5.6.7.8", "Add.n.1.18446744073709551615.3", "Add.n.1.2."})
    EXPECT_FALSE(parse_call_name(text)) << text;
}

TEST(FileName, LegacyOnes) {
  const auto name = parse_legacy_name(
      "Default--conv-Conv2d--Conv2D-op308_output_1_shape_4_16_kNumberTypeFloat32_NC1HWC0_C04.bin");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->type, "Conv2D");
  EXPECT_EQ(name->name, "Default_conv-Conv2d_Conv2D-op308");
  EXPECT_EQ(name->side, model::Side::output);
  EXPECT_EQ(name->index, 1u);
  EXPECT_EQ(name->shape, (model::Shape{4, 16}));
  EXPECT_EQ(name->dtype, model::DType::float32);
  EXPECT_EQ(name->format, "NC1HWC0_C04");
  EXPECT_EQ(parse_legacy_name("fc3.bias_input_0_shape_UInt32_ND.bin")->shape, model::Shape());
  EXPECT_EQ(parse_legacy_name("-op3_input_0_shape_UInt32_ND.bin")->type, "Parameter");
  for (const char* text : {"", ".bin", "_output_0_shape_1_Float32_ND.bin", "a_output_0_shape_1_Float32_ND",
                           "a_output_0_shape_.bin", "a_output_0_shape_4_4.bin", "a_0_shape_4_Float32_ND.bin",
                           "a_output_x_shape_4_Float32_ND.bin", "a_output_4294967296_shape_4_Float32_ND.bin"})
    EXPECT_FALSE(parse_legacy_name(text)) << text;
}

}  // namespace
}  // namespace opdump::dump
