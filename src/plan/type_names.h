// The names that MindSpore gives the types of operators that PyTorch calls otherwise.
#pragma once

#include <string_view>

namespace opdump::plan {

// True if `text` is MindSpore's name of an operator of PyTorch: "conv2d" of "convolution". Both in lower
// case. An operator can have several: "addmm" is "MatMul" and "BiasAdd".
bool mindspore_calls(std::string_view torch_type, std::string_view text);

}  // namespace opdump::plan
