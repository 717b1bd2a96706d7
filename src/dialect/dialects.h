// Configuration languages: compile text to a DumpPlan, or to an error with file:line:column. One file and
// one row per language.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "plan/dump_plan.h"

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

// An Options::environment that reads the process's environment.
std::optional<std::string> process_environment(std::string_view name);

struct Options {
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

struct Dialect {
  std::string_view name;                           // as in --dialect=NAME
  std::string_view sign;                           // its characteristic key
  bool (*recognises)(const nlohmann::json& root);  // cheap; by content
  // Checks the original's rules for the file's name, symbolic links resolved. Only if Options::strict.
  Result<> (*check_path)(const std::filesystem::path& resolved);
  Result<JsonDocument> (*parse)(std::string name, std::string text);
  Result<plan::DumpPlan> (*compile)(const JsonDocument& document, const Options& options);
  std::span<const KeyPlace> keys;
  int missing_file_number = 0;  // Error::number() for a file that cannot be read
};
std::span<const Dialect> dialects();

// Compiles `text`, named `path` in messages, with the dialect `name`, or with the first that
// recognises it if `name` is empty. Errors: usage (no such dialect), config.
Result<plan::DumpPlan> make_plan(const std::filesystem::path& path, std::string text, std::string_view name,
                                 const Options& options);

// Reads `path` (at most 16 MiB) and compiles it with the dialect `name`, or with the first that
// recognises it if `name` is empty. Errors: usage (no such dialect), config (also for a file that cannot be
// read).
Result<plan::DumpPlan> load_plan(const std::filesystem::path& path, std::string_view name,
                                 const Options& options);

}  // namespace opdump::dialect
