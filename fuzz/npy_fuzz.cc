// Any bytes as a .npy file. What is accepted must lie within the input, and if it is row-major and of a dtype
// we write, our header for it must say the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "format/tensors/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump::format;
  const auto file = std::as_bytes(std::span(data, size));
  const auto header = decode_npy_header(file);
  if (!header) return header.error().message().empty() ? std::abort(), 0 : 0;
  if (header->data_offset > size || header->data_bytes() > size - header->data_offset) std::abort();
  if (decode_npy_header(file.first(header->data_offset), size)->shape != header->shape) std::abort();
  const auto encoded = encode_npy_header(header->dtype, header->shape);
  if (!encoded) return 0;
  const std::uint64_t whole = encoded->size() + header->data_bytes();
  const auto again = decode_npy_header(std::as_bytes(std::span(*encoded)), whole);
  if (!again || again->shape != header->shape || again->dtype != header->dtype) std::abort();
  return 0;
}
