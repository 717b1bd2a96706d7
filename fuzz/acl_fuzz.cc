// acl.json from a stranger: any bytes give a plan or an error, in bounded time and memory. The first byte
// chooses strictness, the rest is the file.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "dialect/acl.h"

namespace {

std::optional<std::string> environment(std::string_view name) {
  if (name == "HOME") return "/tmp";
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  opdump::dialect::DialectOptions options;
  options.strict = (data[0] & 1) != 0;
  options.environment = environment;
  auto document = opdump::dialect::parse_acl("fuzz.json", std::string(data + 1, data + size));
  if (!document) return 0;
  auto plan = opdump::dialect::compile_acl(*document, options);
  if (!plan) return 0;
  plan->models.define_model(1, {"inside", "resnet50"});
  plan->models.choose({.type = "Conv2D", .name = "conv1", .graph_id = 1, .source_file = {}});
  static_cast<void>(plan->models.describe_unmatched({}));
  static_cast<void>(opdump::plan::describe(*plan));
  static_cast<void>(opdump::plan::describe_json(*plan));
  return 0;
}
