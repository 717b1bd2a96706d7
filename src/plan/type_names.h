// The names that MindSpore gives the types of operators that PyTorch calls otherwise.
#pragma once

#include <string_view>

namespace opdump::plan {

// True if MindSpore's name of an operator of PyTorch begins with `text`: "conv2d" for "convolution",
// "conv2dback" for "convolution_backward". Both in lower case. An operator can have several: "addmm" is
// "MatMul" and "BiasAdd".
bool mindspore_calls(std::string_view torch_type, std::string_view text);

}  // namespace opdump::plan
