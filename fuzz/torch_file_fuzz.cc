// Any bytes as a file of torch.save and as the pickle in one: an error, or tensors that lie in the file or
// say why not.
#include <cstdlib>

#include "format/tensors/torch/pickle.h"
#include "format/tensors/torch/torch_read.h"
#include "model/tensor_view.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump::format;
  const auto file = std::as_bytes(std::span(data, size));
  const auto check = [&](const StoredTorchTensor& tensor) {
    if (!tensor.fault.empty() || tensor.data.bytes == 0) return;
    if (tensor.data.offset > size || tensor.data.bytes > size - tensor.data.offset) std::abort();
    const opdump::model::TensorView view{tensor.dtype, tensor.shape, tensor.strides, nullptr};
    std::uint64_t last = 0;  // the last element, counted from the first one in memory
    for (std::size_t axis = 0; axis < tensor.strides.rank(); ++axis)
      last += static_cast<std::uint64_t>((tensor.shape[axis] - 1) * tensor.strides[axis]);
    const std::uint64_t bytes = tensor.strides.rank() == 0
                                    ? view.byte_count()
                                    : (last + 1) * opdump::model::dtype_info(tensor.dtype).bits / 8;
    if (bytes != tensor.data.bytes) std::abort();
  };
  const auto listed = list_torch_tensors(file, check);
  if (!listed && listed.error().message().empty()) std::abort();
  const auto pickle = decode_pickle(file);
  if (!pickle) return 0;
  if (pickle->root >= pickle->values.size()) std::abort();
  for (const PickleValue& value : pickle->values)
    for (const std::uint32_t item : value.items)
      if (item >= pickle->values.size()) std::abort();
  return 0;
}
