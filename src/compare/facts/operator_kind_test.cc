#include "compare/facts/operator_kind.h"

#include <gtest/gtest.h>

namespace opdump::compare {
namespace {

TEST(KindOf, OneNameForAllFrameworks) {
  for (const char* type : {"convolution", "Conv", "Conv2D", "ConvTranspose", "QLinearConv"})
    EXPECT_EQ(kind_of(type).name, "conv") << type;
  for (const char* type : {"addmm", "mm", "Gemm", "MatMul", "BatchMatMulV2"})
    EXPECT_EQ(kind_of(type).name, "linear") << type;
  for (const char* type : {"relu_", "relu", "Relu", "ReLU"}) EXPECT_EQ(kind_of(type).name, "relu") << type;
  for (const char* type : {"native_layer_norm", "LayerNormalization"})
    EXPECT_EQ(kind_of(type).name, "layernorm") << type;
  EXPECT_EQ(kind_of("_log_softmax").name, kind_of("LogSoftmax").name);
  EXPECT_EQ(kind_of("FusedBatchNormV3").name, kind_of("native_batch_norm").name);
  EXPECT_NE(kind_of("Add").name, kind_of("Mul").name);
}

TEST(KindOf, RolesOfWhatComputesNothing) {
  for (const char* type : {"_unsafe_view", "Reshape", "Transpose", "clone", "Identity", "StridedSlice"})
    EXPECT_EQ(kind_of(type).role, OperatorRole::moves) << type;
  for (const char* type : {"Constant", "randn", "normal_", "zeros", "Shape"})
    EXPECT_EQ(kind_of(type).role, OperatorRole::makes) << type;
  EXPECT_EQ(kind_of("SomethingNew").role, OperatorRole::computes);
}

TEST(ModulePath, OfTorchAndOfItsExports) {
  EXPECT_EQ(module_path("Default/layer1-Sequential/0-BasicBlock/conv1-Conv2d/convolution-op0"),
            "layer1.0.conv1");
  EXPECT_EQ(module_path("/layer1/layer1.0/conv1/Conv"), "layer1.0.conv1");
  EXPECT_EQ(module_path("/layer1/layer1.0/layer1.0.conv1/Conv"), "layer1.0.conv1");
  EXPECT_EQ(module_path("/blocks.0/norm1/LayerNormalization"), "blocks.0.norm1");
  EXPECT_EQ(module_path("Default/blocks-ModuleList/0-Block/norm1-LayerNorm/native_layer_norm-op0"),
            "blocks.0.norm1");
}

TEST(ModulePath, NoneWithoutModules) {
  EXPECT_EQ(module_path("Default/add-op0"), "");
  EXPECT_EQ(module_path("/Add"), "");
  EXPECT_EQ(module_path("node_Conv_291"), "");
  EXPECT_EQ(module_path(""), "");
}

TEST(FrameworkOf, FirstWord) {
  EXPECT_EQ(framework_of("onnxruntime 1.23.2"), "onnxruntime");
  EXPECT_EQ(framework_of(""), "");
}

}  // namespace
}  // namespace opdump::compare
