#include "dump/tensor_names.h"

#include <gtest/gtest.h>

namespace opdump::dump {
namespace {

using model::Side;

TEST(TensorNames, WhatMsaccucmpConverted) {
  const auto plain = parse_tensor_name("Conv2D.conv1.3.5.1700000000000001.output.2");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->type, "Conv2D");
  EXPECT_EQ(plain->name, "conv1");
  EXPECT_EQ(plain->task, 3u);
  EXPECT_EQ(plain->stream, 5);
  EXPECT_EQ(plain->timestamp_us, 1700000000000001u);
  EXPECT_EQ(plain->side, Side::output);
  EXPECT_EQ(plain->index, 2u);
  EXPECT_EQ(plain->format, "");
  EXPECT_EQ(parse_tensor_name("T.n.3.5.1700000000000001.input.0.NC1HWC0")->format, "NC1HWC0");
  EXPECT_EQ(parse_tensor_name("T.n.3.5.1700000000000001.output.0.1x20x4x4")->format, "");
  const auto part = parse_tensor_name("T.n.3.5.1700000000000001.4.7.8.0.output.1.ND");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->task, 3u);
  EXPECT_EQ(part->index, 1u);
}

TEST(TensorNames, EagerDumpsOfTorchAir) {
  const auto list = parse_tensor_name("cat_1-aten.cat.default.INPUT.0.12.20260102030405678901");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->type, "aten.cat.default");
  EXPECT_EQ(list->name, "cat_1");
  EXPECT_EQ(list->side, Side::input);
  EXPECT_EQ(list->index, 0u);
  EXPECT_EQ(list->part, 12u);
  EXPECT_EQ(list->timestamp_us, 1767323045678901u);
  EXPECT_FALSE(parse_tensor_name("add_1-aten.add.Tensor.OUTPUT.1.20260102030405678901")->part);
  EXPECT_EQ(parse_tensor_name("a-b.OUTPUT.1.99999999999999999999")->timestamp_us, 0u);  // no date
  for (const char* name : {"-b.OUTPUT.1.20260102030405678901", "a-b.1.20260102030405678901",
                           "a-b.OUTPUT.1.2.3.20260102030405678901", "a-b.OUTPUT.x.20260102030405678901"})
    EXPECT_FALSE(parse_tensor_name(name)) << name;
}

TEST(TensorNames, GoldenDataOfMsaccucmp) {
  const auto golden = parse_tensor_name("layer.1.conv.0.1700000000000001");
  ASSERT_TRUE(golden);
  EXPECT_EQ(golden->name, "layer.1.conv");
  EXPECT_EQ(golden->index, 0u);
  EXPECT_EQ(golden->side, Side::output);
  EXPECT_EQ(golden->type, "");
  for (const char* name : {"", "conv", "conv.0", ".0.1700000000000001", "conv..1700000000000001", "conv.0.12",
                           "conv.x.1700000000000001", "conv.0.x700000000000001"})
    EXPECT_FALSE(parse_tensor_name(name)) << name;
}

TEST(TensorNames, WhatOpdumpConverts) {
  const auto plain = parse_tensor_name("Default_conv1-Conv2d_convolution-op0.input.2");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->name, "Default_conv1-Conv2d_convolution-op0");
  EXPECT_EQ(plain->side, Side::input);
  EXPECT_EQ(plain->index, 2u);
  EXPECT_EQ(plain->execution, 0u);
  const auto third = parse_tensor_name("layer.1." + std::string("relu.run2.output.0"));
  ASSERT_TRUE(third);
  EXPECT_EQ(third->name, "layer.1.relu");
  EXPECT_EQ(third->execution, 2u);
  EXPECT_EQ(execution_name("layer.1.relu", 2) + ".output.0", "layer.1.relu.run2.output.0");
  EXPECT_EQ(execution_name("relu", 0), "relu");
  EXPECT_EQ(parse_tensor_name("a.runx.output.0")->name, "a.runx");
  for (const char* name : {"output.0", ".output.0", ".run1.output.0", "a.output", "a.output.x", "a.b.0"})
    EXPECT_FALSE(parse_tensor_name(name)) << name;
}

TEST(TensorNames, RanksAndTestData) {
  EXPECT_EQ(find_global_rank("worldsize8_global_rank7"), 7u);
  for (const char* name : {"", "worldsize8", "worldsize_global_rank1", "worldsize8_global_rank", "rank_1",
                           "xworldsize8_global_rank7", "worldsize8_global_rank99999999999"})
    EXPECT_FALSE(find_global_rank(name)) << name;
  EXPECT_EQ(parse_test_data_name("input_0.pb")->side, Side::input);
  EXPECT_EQ(parse_test_data_name("output_12.pb")->index, 12u);
  for (const char* name : {"input_0", "input.pb", "in_0.pb", "input_x.pb", "my_input_0.pb", ".pb"})
    EXPECT_FALSE(parse_test_data_name(name)) << name;
}

// What `opdump convert` calls an operator is one part of a path, and of no other operator.
TEST(TensorNames, TagsOfSglang) {
  const auto older = parse_tagged_name("forward_pass_id=2___rank=1___name=a___b___dump_index=7___layer_id=3");
  ASSERT_TRUE(older);
  EXPECT_EQ(older->name, "layer_id=3/a___b");
  EXPECT_EQ(older->step, 2);
  EXPECT_EQ(older->rank, 1U);
  EXPECT_EQ(older->index, 7U);
  const auto newer = parse_tagged_name("step=0___rank=0___dump_index=1___name=h___recompute_status=disabled");
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->name, "h");
  EXPECT_EQ(parse_tagged_name("step=0___rank=0___name=h___tp_rank=1___pp_rank=0")->name, "h");
  for (const char* name : {"dump_20260131_235959_123456", "sglang_dump_1769903999.5"})
    EXPECT_TRUE(is_tagged_run(name)) << name;
  for (const char* name : {"dump_", "dump_a", "dump", "20260131_235959", "sglang_", ""})
    EXPECT_FALSE(is_tagged_run(name)) << name;
  for (const char* name : {"", "conv1", "a=1", "name=x", "x___name=y___step=0", "step=1___rank=0"})
    EXPECT_FALSE(parse_tagged_name(name)) << name;
}

TEST(TensorNames, ConvertedNames) {
  EXPECT_EQ(converted_name("Default_conv1-Conv2d_conv-op0"), "Default_conv1-Conv2d_conv-op0");
  EXPECT_EQ(converted_name("a/b\\c:d*e?f\"g<h>i|j\nk\x7fl m"), "a_b_c_d_e_f_g_h_i_j_k_l m");
  EXPECT_EQ(converted_name(""), "_");
  EXPECT_EQ(converted_name("../a"), "_.._a");
  EXPECT_EQ(converted_name(std::string(180, 'x')), std::string(180, 'x'));
  const std::string one = converted_name(std::string(181, 'x')),
                    other = converted_name(std::string(182, 'x'));
  EXPECT_EQ(one.size(), 180U);
  EXPECT_EQ(one, std::string(163, 'x') + "_d5d8d839fa546b88");
  EXPECT_NE(one, other);
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += "\xC3\xA4";
  EXPECT_EQ(converted_name(wide).substr(160, 3), "\xC3\xA4_");
}

}  // namespace
}  // namespace opdump::dump
