// Any bytes as an .npz archive: an error, or members whose headers and data can be read or say why not.
#include <cstdlib>

#include "format/tensors/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump::format;
  const auto file = std::as_bytes(std::span(data, size));
  const auto check = [&](const NpzMember& member) {
    if (member.stored.offset > size || member.stored.bytes > size - member.stored.offset) std::abort();
    const auto header = read_npz_header(file, member);
    if (header && header->data_offset + header->data_bytes() > member.bytes) std::abort();
    if (member.is_deflated) [[maybe_unused]]
      const auto bytes = inflate(file.subspan(member.stored.offset, member.stored.bytes), member.bytes);
  };
  const auto listed = list_npz(file, check);
  if (!listed && listed.error().message().empty()) std::abort();
  return 0;
}
