// data_dump.json from a stranger: any bytes give a plan or an error, in bounded time and memory. The first
// byte chooses the mode and strictness, the rest is the file.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/text/json.h"
#include "dialect/mindspore.h"

namespace {

std::optional<std::string> environment(std::string_view name) {
  if (name == "HOME") return "/home/me";
  if (name == "MS_DIAGNOSTIC_DATA_PATH") return "/diag";
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  opdump::dialect::DialectOptions options;
  options.strict = (data[0] & 1) != 0;
  options.mode = static_cast<opdump::dialect::Mode>((data[0] >> 1) % 6);
  options.environment = environment;
  auto document = opdump::JsonDocument::parse("fuzz.json", std::string(data + 1, data + size));
  if (!document) return 0;
  auto plan = opdump::dialect::compile_mindspore(*document, options);
  if (!plan) return 0;
  plan->operators.wants("Default/network-WithLossCell/conv1-Conv2d/Conv2D-op12");
  static_cast<void>(opdump::plan::describe(*plan));
  static_cast<void>(opdump::plan::describe_json(*plan));
  return 0;
}
