// How DebugMode of PyTorch prints the arguments and results of an operator: Python's text of them, in which a
// tensor is "t: f32[2, 3]", with an id "t$7: f32[2, 3]", with attributes "t: f32[2,
// 3]{layout=torch.strided}", a DTensor "dt: f32[8, 8]| S(0)", a fake tensor "ft: f32[2]". Within lists, texts
// have quotation marks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/dtype.h"
#include "model/shape.h"

namespace opdump::format {

// An argument or a result, or a part of it.
struct DebugModeValue {
  enum class Kind : std::uint8_t { other, none, tensor, dtensor, fake_tensor, list };
  Kind kind = Kind::other;
  std::string keyword;                           // of an argument; empty for a positional one
  model::DType dtype = model::DType::undefined;  // of a tensor; undefined if we do not have it
  std::optional<model::Shape> shape;             // of a tensor; nothing if it has symbols
  std::vector<DebugModeValue> items;             // of a list or a tuple
  std::string word;                              // of what is other, if it is short: "1e-05", "True"
};

// Values with commas between them: "t: f32[2], [1, 1], None", ", alpha=2". What is neither a tensor, nor
// None, nor a list is "other": any text is accepted.
std::vector<DebugModeValue> parse_debug_mode_values(std::string_view text);

}  // namespace opdump::format
