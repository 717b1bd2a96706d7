// ONNX's TensorProto, alone in a file: input_0.pb and output_0.pb of a model's test data. Specification:
// onnx.proto (fields of TensorProto). Elements in other files are refused.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/file/scratch.h"
#include "base/result.h"
#include "format/tensors/dump_data.h"
#include "model/dtype.h"
#include "model/shape.h"

namespace opdump::format {

struct OnnxTensor {
  std::string name;  // of the value in the graph; may be empty
  model::DType dtype = model::DType::undefined;
  model::Shape shape;
  std::optional<Extent> raw;  // where the elements lie; nothing if they are numbers of the message
};

// Reads everything before the elements, and checks that the elements are in the file. Errors:
// corrupt; unsupported (strings, elements in another file or of a type that we lack).
Result<OnnxTensor> decode_onnx_tensor(std::span<const std::byte> file);

// The elements of a tensor without `raw`, row by row. Errors: corrupt; as Scratch::make.
Result<Scratch> read_onnx_elements(std::span<const std::byte> file, const OnnxTensor& tensor);

}  // namespace opdump::format
