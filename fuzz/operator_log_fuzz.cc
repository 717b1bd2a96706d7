// Any bytes as an operators.jsonl, and any text as the name of a tensor file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "dump/file_name.h"
#include "dump/operator_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump::dump;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::size_t lines = 0;
  const auto count = [&](const auto&) {
    ++lines;
    return opdump::ok();
  };
  const auto damaged = decode_operator_log(text, {count, count, count, count, count});
  if (!damaged || lines + *damaged > size) std::abort();
  if (const auto name = parse_file_name(text)) {
    const auto again = parse_file_name(format_file_name(*name));
    if (!again || again->type != name->type || again->name != name->name || again->index != name->index)
      std::abort();
  }
  return 0;
}
