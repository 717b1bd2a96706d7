// Any bytes as a model, then as a TensorProto: an error, or tensors whose elements lie in the input or can be
// read from it.
#include <cstdlib>

#include "format/tensors/onnx_tensor.h"
#include "model/tensor_view.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump;
  const auto file = std::as_bytes(std::span(data, size));
  const auto listed = format::list_onnx_initializers(file, [&](const format::OnnxInitializer& initializer) {
    const auto raw = initializer.tensor.raw.value_or(initializer.message);
    if (initializer.fault.empty() && (raw.offset > size || raw.bytes > size - raw.offset)) std::abort();
  });
  if (!listed && listed.error().message().empty()) std::abort();
  const auto tensor = format::decode_onnx_tensor(file);
  if (!tensor) return tensor.error().message().empty() ? std::abort(), 0 : 0;
  const std::uint64_t bytes = model::TensorView{tensor->dtype, tensor->shape, {}, nullptr}.byte_count();
  if (tensor->raw) {
    if (tensor->raw->offset > size || tensor->raw->bytes > size - tensor->raw->offset ||
        tensor->raw->bytes != bytes)
      std::abort();
    return 0;
  }
  const auto elements = format::read_onnx_elements(file, *tensor);
  if (elements && bytes > 16 * size) std::abort();
  return 0;
}
