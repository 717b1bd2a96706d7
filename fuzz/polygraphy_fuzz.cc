// Any text as results of Polygraphy: an error, or arrays that lie in it or say why not.
#include <cstdlib>
#include <vector>

#include "format/tensors/polygraphy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump::format;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const auto check = [&](const PolygraphyArray& array) {
    if (array.text.offset > size || array.text.bytes > size - array.text.offset) std::abort();
    if (!array.fault.empty()) return;
    std::vector<std::byte> npy(array.npy_bytes);
    if (!decode_base64(file.substr(array.text.offset, array.text.bytes), npy)) return;
    if (array.header.data_offset + array.header.data_bytes() > npy.size()) std::abort();
  };
  const auto listed = list_polygraphy(file, check);
  if (!listed && listed.error().message().empty()) std::abort();
  return 0;
}
