// The header of a .safetensors file: u64 length | JSON, filled up with blanks to a multiple of 8 | the
// tensors' bytes, row by row, little endian, without gaps in the order of the header; a reader takes any
// order. Spec: https://github.com/huggingface/safetensors#format.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "format/tensors/dump_data.h"
#include "model/dtype.h"
#include "model/shape.h"

namespace opdump::format {

struct SafetensorsEntry {
  std::string name;
  model::DType dtype = model::DType::undefined;
  model::Shape shape;
};

// "F32"; empty for dtypes that the format lacks (such as complex128).
std::string_view safetensors_dtype(model::DType dtype);

// Everything before the first tensor.
class SafetensorsHeader {
 public:
  // The next tensor; names must differ. Errors: unsupported -- a dtype; limit -- the tensors are larger than
  // any file.
  Result<> add(const std::string& name, model::DType dtype, const model::Shape& shape);
  // Calls put(text) with one piece after the other. To be called once. Errors: limit -- names and shapes of
  // more than 100 MB, which the format does not allow; those of `put`.
  Result<> finish(const std::function<Result<>(std::string_view)>& put);

 private:
  std::string text_;  // behind the bytes for its length
  std::uint64_t offset_ = 0, count_ = 0;
};

// A tensor of a file.
struct StoredSafetensors {
  SafetensorsEntry entry;
  Extent data;
  std::string fault;  // not empty: why it cannot be read; entry and data then hold what could be
};

// True for the first bytes (9 or more) of a file that can be one.
bool is_safetensors(std::span<const std::byte> start);

// Calls take(tensor) for each tensor in the order of the header, which is mostly that of their data. Every
// Extent without a fault lies in `file` and is what dtype and shape need. Nothing is kept: a header may name
// a million. Errors: corrupt, and nothing is taken; limit -- a header of more than 100 MB.
using TakeSafetensors = std::function<void(StoredSafetensors tensor)>;
Result<> decode_safetensors(std::span<const std::byte> file, const TakeSafetensors& take);

}  // namespace opdump::format
