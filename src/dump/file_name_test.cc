#include "dump/file_name.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace opdump::dump
