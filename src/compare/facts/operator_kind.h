// What operators of different frameworks have in common in their names: PyTorch's `native_layer_norm`, ONNX's
// `LayerNormalization` and MindSpore's `LayerNorm` are one kind, and
// `Default/layer1-Sequential/0-Block/conv1-Conv2d` and `/layer1/layer1.0/conv1` are one module.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace opdump::compare {

enum class OperatorRole : std::uint8_t {
  computes,
  moves,  // reshapes, transposes, copies, casts: its results have the elements of what it reads
  makes,  // constants, shapes, random numbers: it reads no data
};

struct OperatorKind {
  std::string name;  // "conv", "linear", "layernorm"; an unknown type in small letters and digits
  OperatorRole role = OperatorRole::computes;
};
OperatorKind kind_of(std::string_view type);

// "layer1.0.conv1", as PyTorch's state_dict spells it; "" for what is in no module. `name` is the full name
// of an operator. A module that repeats the name of the one that holds it, as exporters write it, counts
// once.
std::string module_path(std::string_view name);

// "onnxruntime" of "onnxruntime 1.23.2".
std::string_view framework_of(std::string_view runtime);

}  // namespace opdump::compare
