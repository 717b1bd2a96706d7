// Any bytes as a file of CANN's. What is accepted lies within the input, and the header we write of it says
// the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "format/tensors/dump_data.h"

namespace {

using namespace opdump::format;

void check_extent(const std::optional<Extent>& extent, std::size_t size) {
  if (extent && (extent->offset > size || extent->bytes > size - extent->offset)) std::abort();
}

void forget_data(DumpData& data) {
  data.announced_bytes = data.payload_bytes = 0;
  for (auto* list : {&data.inputs, &data.outputs})
    for (DumpTensor& tensor : *list) tensor.data.reset();
  for (auto* list : {&data.buffers, &data.spaces})
    for (DumpBlock& block : *list) block.data.reset();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* input, std::size_t size) {
  auto data = decode_dump_data(std::as_bytes(std::span(input, size)));
  if (!data) return data.error().message().empty() ? std::abort(), 0 : 0;
  for (const auto* list : {&data->inputs, &data->outputs}) {
    for (const DumpTensor& tensor : *list) {
      check_extent(tensor.data, size);
      const auto array = read_dump_array(tensor);
      if (!array) continue;
      check_extent(array->data, size);
      const opdump::model::TensorView view{array->dtype, array->shape, {}, nullptr};
      if (view.byte_count() != array->data.bytes) std::abort();
    }
  }
  for (const auto* list : {&data->buffers, &data->spaces})
    for (const DumpBlock& block : *list) check_extent(block.data, size);
  const std::string header = encode_dump_header(*data);
  auto again = decode_dump_data(std::as_bytes(std::span(header)));
  if (header.size() == 8) return 0;  // a message without a field
  if (!again) std::abort();
  forget_data(*data);
  forget_data(*again);
  if (*again != *data) std::abort();
  return 0;
}
