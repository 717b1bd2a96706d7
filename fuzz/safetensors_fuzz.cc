// Any bytes as a .safetensors file: an error, or tensors that lie in it or say why not.
#include <cstdlib>

#include "format/tensors/safetensors.h"
#include "model/tensor_view.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump::format;
  const auto check = [&](const StoredSafetensors& tensor) {
    if (!tensor.fault.empty()) return;
    if (tensor.data.offset > size || tensor.data.bytes > size - tensor.data.offset) std::abort();
    const opdump::model::TensorView view{tensor.entry.dtype, tensor.entry.shape, {}, nullptr};
    if (view.byte_count() != tensor.data.bytes) std::abort();
  };
  const auto decoded = decode_safetensors(std::as_bytes(std::span(data, size)), check);
  if (!decoded && decoded.error().message().empty()) std::abort();
  return 0;
}
