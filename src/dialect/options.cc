#include "dialect/options.h"

#include <cstdlib>
#include <utility>
#include <vector>

#include "base/text/text.h"

namespace opdump::dialect {
namespace {

constexpr std::pair<std::string_view, Mode> kModeNames[] = {
    {"auto", Mode::automatic}, {"o0", Mode::o0},   {"o2", Mode::o2},
    {"cpu", Mode::cpu},        {"gpu", Mode::gpu}, {"ge", Mode::ge},
};

}  // namespace

Result<Mode> parse_mode(std::string_view text) {
  std::vector<std::string_view> names;
  for (const auto& [name, mode] : kModeNames) {
    if (name == text) return mode;
    names.push_back(name);
  }
  return Error(Code::usage, "mode is \"" + std::string(text) + "\"; expected " + join_or(names));
}

std::optional<std::string> process_environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace opdump::dialect
