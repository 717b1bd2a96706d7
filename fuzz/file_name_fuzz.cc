// Any text as the name of a file in a dump.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dump/file_name.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump::dump;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto name = parse_file_name(text)) {
    const auto again = parse_file_name(format_file_name(*name));
    if (!again || again->name != name->name || again->timestamp_us != name->timestamp_us) std::abort();
  }
  if (const auto name = parse_call_name(text)) {
    const auto again = parse_call_name(format_call_name(*name));
    if (!again || again->type != name->type || again->timestamp_us != name->timestamp_us) std::abort();
  }
  if (const auto name = parse_legacy_name(text))
    if (name->type.empty() || name->name.find('/') != std::string::npos) std::abort();
  if (plain_name(text).find_first_of("./ ") != std::string::npos) std::abort();
  return 0;
}
