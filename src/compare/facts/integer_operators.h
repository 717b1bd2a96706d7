// Operators of ONNX that compute with the integers of a quantised model (QLinearConv, MatMulInteger).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dump/read/runs.h"

namespace opdump::compare {

// Ends of names that the tools of ONNX Runtime give to what computes with integers.
inline constexpr std::string_view kIntegerName = "_quant", kConvBiasName = "_bias_add";

// Says whether it has scales between its operands.
bool computes_with_levels(std::string_view type);

// True also of what ONNX Runtime makes of several operators: MatMulIntegerToFloat, DynamicQuantizeLSTM.
bool computes_with_integers(std::string_view type);

// Whether it computes with integers, or only for what does.
bool serves_integers(const dump::OperatorRun& run);

// The first execution that computes with integers, if there is one.
std::optional<std::uint32_t> find_integer_operator(const dump::Runs& runs);

}  // namespace opdump::compare
