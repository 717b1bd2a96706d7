// The names that MindSpore gives the types of operators that PyTorch calls otherwise.
#pragma once

#include <string_view>

namespace opdump::plan {

// True if `text` is MindSpore's name of an operator of PyTorch: "conv2d" of "convolution". Both in lower
// case. An operator can have several: "addmm" is "MatMul" and "BiasAdd".
bool mindspore_calls(std::string_view torch_type, std::string_view text);

// True if `text` names the type itself: "relu" and "ReLU" of "relu_", "softmax" of "_softmax", "layer_norm"
// of "native_layer_norm", or MindSpore's name for it. Unlike a type in "kernels", a part of the name is not
// enough.
bool is_type(std::string_view torch_type, std::string_view text);

// True if CANN's graph engine calls operators of the type so: "Relu" and "MatMulV2" of "relu" and "mm". It
// has the types that is_type() knows, with marks of versions.
bool is_engine_type(std::string_view torch_type, std::string_view text);

}  // namespace opdump::plan
