// Any bytes as a file of a nano device. What is accepted lies within the input.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "format/tensors/tlv_dump.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* input, std::size_t size) {
  const auto file = std::as_bytes(std::span(input, size));
  std::vector<opdump::format::TlvGap> gaps;
  const auto data = opdump::format::decode_tlv_dump(file, &gaps);
  if (gaps.size() > size) std::abort();
  if (!data) return data.error().message().empty() ? std::abort(), 0 : 0;
  if (!opdump::format::is_tlv_dump(file) && size > 12) std::abort();
  for (const auto* list : {&data->inputs, &data->outputs})
    for (const auto& tensor : *list)
      if (tensor.data && (tensor.data->offset > size || tensor.data->bytes > size - tensor.data->offset))
        std::abort();
  return 0;
}
