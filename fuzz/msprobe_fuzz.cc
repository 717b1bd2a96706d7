// Any text as each of the JSON files of msprobe: an error, or calls whose tensors have places.
#include <cstdlib>

#include "format/tables/msprobe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump::format;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto check = [](const std::string& name, const std::vector<MsprobeTensor>& tensors,
                        const std::string& arguments) {
    if (arguments.empty()) std::abort();
    [[maybe_unused]] const MsprobeName parsed = parse_msprobe_name(name);
    for (const MsprobeTensor& tensor : tensors)
      if (tensor.argument.empty() && tensor.index >= 1 << 16) std::abort();
  };
  const auto odd = decode_msprobe_dump(text, check);
  if (!odd && odd.error().message().empty()) std::abort();
  [[maybe_unused]] const auto parents = decode_msprobe_construct(text);
  const auto stacks = decode_msprobe_stacks(text);
  if (!stacks) return 0;
  for (const auto& [name, stack] : stacks->by_name)
    if (stack >= stacks->stacks.size()) std::abort();
  return 0;
}
