// Any text as a log of DebugMode, and as the arguments of an operator in one: an error, or lines whose
// tensors have places.
#include <cstdlib>

#include "format/tables/debug_mode.h"
#include "format/tables/debug_mode_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump::format;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  [[maybe_unused]] const bool is_log = is_debug_mode(text);
  const auto check = [](const DebugModeLine& line) {
    const bool is_region = line.kind != DebugModeLine::Kind::call && line.kind != DebugModeLine::Kind::other;
    if (is_region && line.inner_level <= line.level) std::abort();
    for (const DebugModeTensor& tensor : line.tensors)
      for (const auto& [column, value] : tensor.statistics)
        if (column.empty()) std::abort();
  };
  const auto faults = decode_debug_mode(text, check);
  if (!faults && faults.error().message().empty()) std::abort();
  if (faults && (faults->damaged + faults->unknown == 0) != faults->first.empty()) std::abort();
  for (const DebugModeValue& value : parse_debug_mode_values(text))
    if (value.kind != DebugModeValue::Kind::list && !value.items.empty()) std::abort();
  return 0;
}
