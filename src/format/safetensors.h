// The header of a .safetensors file: u64 length | JSON, filled up with blanks to a multiple of 8 | the
// tensors' bytes, row by row, little endian, without gaps in the order of the header. Spec:
// https://github.com/huggingface/safetensors#format.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/dtype.h"
#include "model/shape.h"

namespace opdump::format {

struct SafetensorsEntry {
  std::string name;
  model::DType dtype = model::DType::undefined;
  model::Shape shape;
};

// "F32"; empty for dtypes that the format has not (complex128 among them).
std::string_view safetensors_dtype(model::DType dtype);

// All that comes before the first tensor. Names must differ. Errors: unsupported -- a dtype; limit -- the
// tensors are larger than any file.
Result<std::string> encode_safetensors_header(std::span<const SafetensorsEntry> entries);

}  // namespace opdump::format
