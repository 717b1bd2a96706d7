// Names of tensor files in scheme (A), mindspore.md 2.2:
//   {type}.{name}.{task}.{stream}.{us}.{input|output}.{index}.{format}.{dtype}.npy
// Dumps of releases up to 2.3 have no dtype field. Only the type may hold dots, so names are read from their
// right end. Weights and constants are ordinary names of the type "Parameter".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/dtype.h"
#include "model/operator.h"
#include "model/shape.h"

namespace opdump::dump {

// Longest file name, in bytes and with ".npy"; longer ones are renamed (mapping.csv).
inline constexpr std::size_t kMaxFileName = 255;

struct FileName {
  std::string type;  // as in the program
  std::string name;  // sanitised
  std::uint64_t task = 0;
  std::int64_t stream = 0;
  std::uint64_t timestamp_us = 0;
  model::Side side = model::Side::input;
  std::uint32_t index = 0;
  std::string format;  // "DefaultFormat"
  std::string dtype;   // "float32", "Float32"; empty where the release wrote none
};

// The operator's type and name as files and rows spell them: sanitise_name() for the name, and in both every
// byte that would make a path or break a row ('/' in a type, control bytes, comma, quote) becomes '_'. An
// empty one becomes "_". The original's own operators have no such bytes.
std::string file_type(const model::Operator& op);
std::string file_op_name(const model::Operator& op);

// `text` as CANN's tools accept types and names (mindspore.md 2.9): every byte but letters, digits, '_' and
// '-' becomes '_'. An empty one becomes "_".
std::string plain_name(std::string_view text);

// The name with ".npy"; may exceed kMaxFileName.
std::string format_file_name(const FileName& name);

// Nothing if `text` is not such a name.
std::optional<FileName> parse_file_name(std::string_view text);

// The file of an execution in schemes (B) and (C), which holds all of its tensors:
//   {type}.{name}.{task}[.{stream}].{us}[.{task type}.{context}.{thread}.{device}]
struct CallName {
  std::string type, name;  // as plain_name() spells them
  std::uint64_t task = 0;
  std::int64_t stream = 0;
  std::uint64_t timestamp_us = 0;
};

// Type and name of the record of the operator that overflowed, and what its name ends in as JSON.
inline constexpr std::string_view kOpDebugType = "Opdebug", kOpDebugName = "Node_OpDebug";
inline constexpr std::string_view kOpDebugJsonEnd = ".output.0.json";

// May exceed kMaxFileName.
std::string format_call_name(const CallName& name);

// Nothing if `text` is not such a name.
std::optional<CallName> parse_call_name(std::string_view text);

// A tensor of the releases up to r1.3 (mindspore.md 8b): raw elements, described by the name alone.
//   {name with "--" for "/"}_{input|output}_{index}_shape_{d}_{d}..._{dtype}_{format}.bin
struct LegacyName {
  std::string type;  // "Conv2D" of ".../conv3-Conv2d/Conv2D-op308"; "Parameter" of "fc3.bias"
  std::string name;  // sanitised, as in newer dumps
  model::Side side = model::Side::input;
  std::uint32_t index = 0;
  model::Shape shape;
  model::DType dtype = model::DType::undefined;
  std::string format;
};

// Nothing if `text` is not such a name.
std::optional<LegacyName> parse_legacy_name(std::string_view text);

}  // namespace opdump::dump
