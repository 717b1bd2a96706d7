// Any text as the record of an overflow, and any bytes as a device's.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "format/tensors/op_debug.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump::format;
  if (const auto record = decode_op_debug_json({reinterpret_cast<const char*>(data), size})) {
    const auto again = decode_op_debug_json(encode_op_debug_json(*record));
    if (!again || *again != *record) std::abort();
  }
  (void)decode_op_debug(std::as_bytes(std::span(data, size)));
  return 0;
}
