// Any bytes as a mapping.csv. No name may lead out of its directory, and a rewritten file must mean the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "format/tables/mapping_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto mapping = opdump::format::decode_mapping_csv({reinterpret_cast<const char*>(data), size});
  std::string text;
  for (const auto& [short_name, original] : mapping.originals) {
    if ((short_name + original).find('/') != std::string::npos) std::abort();
    opdump::format::append_mapping_line(text, short_name, original);
  }
  const auto again = opdump::format::decode_mapping_csv(text);
  if (again.damaged_lines != 0 || again.originals != mapping.originals) std::abort();
  return 0;
}
