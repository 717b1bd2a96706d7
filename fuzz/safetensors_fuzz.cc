// Any bytes as a .safetensors file: an error, or tensors that lie in it or say why not.
#include <cstdlib>

#include "format/safetensors.h"
#include "model/tensor_view.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump::format;
  const auto tensors = decode_safetensors(std::as_bytes(std::span(data, size)));
  if (!tensors) return tensors.error().message().empty() ? std::abort(), 0 : 0;
  for (const StoredSafetensors& tensor : *tensors) {
    if (!tensor.fault.empty()) continue;
    if (tensor.data.offset > size || tensor.data.bytes > size - tensor.data.offset) std::abort();
    const opdump::model::TensorView view{tensor.entry.dtype, tensor.entry.shape, {}, nullptr};
    if (view.byte_count() != tensor.data.bytes) std::abort();
  }
  return 0;
}
