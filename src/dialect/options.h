// What a compilation of a configuration depends on beside its text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace opdump::dialect {

// The machine a plan is for. The original systems decide some rules by it.
enum class Mode : std::uint8_t {
  automatic,  // follow the config: e2e_dump_settings present means o0, absent o2 (ge if ENABLE_MS_GE_DUMP=1)
  o0,         // Ascend O0/O1, kernel by kernel
  o2,         // Ascend O2, offline-model dump
  cpu,
  gpu,
  ge,
};

// "o0", "o2", "cpu", "gpu", "ge" or "auto". Errors: usage.
Result<Mode> parse_mode(std::string_view text);

// A DialectOptions::environment that reads the process's environment.
std::optional<std::string> process_environment(std::string_view name);

struct DialectOptions {
  bool strict = false;  // reject what the original rejects against its documentation
  Mode mode = Mode::automatic;
  // Reads environment variables; a parameter so that tests need not change the process.
  std::function<std::optional<std::string>(std::string_view)> environment = process_environment;
};

// A part of a configuration, and its keys.
struct KeyPlace {
  std::string_view name;  // "e2e_dump_settings", "an item of dump_list"
  std::span<const std::string_view> keys;
};

}  // namespace opdump::dialect
