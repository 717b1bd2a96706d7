// Any bytes as the record of an overflow: what is accepted becomes JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "format/tensors/op_debug_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* input, std::size_t size) {
  const auto text = opdump::format::format_op_debug(std::as_bytes(std::span(input, size)));
  if (text && !nlohmann::json::accept(text->json)) std::abort();
  return 0;
}
