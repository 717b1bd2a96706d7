// ONNX's TensorProto: alone in a file, as input_0.pb and output_0.pb of a model's test data, or as an
// initializer of a model. Specification: onnx.proto (fields of TensorProto, GraphProto, ModelProto).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/file/scratch.h"
#include "base/result.h"
#include "format/tensors/dump_data.h"
#include "model/dtype.h"
#include "model/shape.h"

namespace opdump::format {

// Where elements lie that are not in the file of the tensor.
struct OnnxExternal {
  std::string location;  // as the file says it: a path relative to the folder of the model
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> bytes;  // nothing: to the end
};

struct OnnxTensor {
  std::string name;  // of the value in the graph; may be empty
  model::DType dtype = model::DType::undefined;
  model::Shape shape;
  std::optional<Extent> raw;  // where the elements lie; nothing if they are numbers of the message
  std::optional<OnnxExternal> external;
};

// Reads everything before the elements, and checks that the elements are in the file. Errors:
// corrupt; unsupported (strings, elements in another file or of a type that we lack).
Result<OnnxTensor> decode_onnx_tensor(std::span<const std::byte> file);

// An initializer of a model: `raw` counts from the start of the model's file. `message` is the TensorProto,
// of which read_onnx_elements() reads those that are neither raw nor external.
struct OnnxInitializer {
  OnnxTensor tensor;
  Extent message;
  std::string fault;  // not empty: why it cannot be read
};

// Calls take(initializer) for each initializer of the main graph of a model, in the order of the file.
// Errors: corrupt -- no ModelProto, or none with a graph.
Result<> list_onnx_initializers(std::span<const std::byte> file,
                                const std::function<void(OnnxInitializer)>& take);

// The elements of a tensor without `raw`, row by row. Errors: corrupt; as Scratch::make.
Result<Scratch> read_onnx_elements(std::span<const std::byte> file, const OnnxTensor& tensor);

}  // namespace opdump::format
