// Configuration languages: compile text to a DumpPlan, or to an error with file:line:column. One file and
// one row per language.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text/json.h"
#include "dialect/options.h"
#include "plan/dump_plan.h"

namespace opdump::dialect {

struct Dialect {
  std::string_view name;                           // as in --dialect=NAME
  std::string_view sign;                           // its characteristic key
  bool (*recognises)(const nlohmann::json& root);  // cheap; by content
  // Checks the original's rules for the file's name, symbolic links resolved. Only if DialectOptions::strict.
  Result<> (*check_path)(const std::filesystem::path& resolved);
  Result<JsonDocument> (*parse)(std::string name, std::string text);
  Result<plan::DumpPlan> (*compile)(const JsonDocument& document, const DialectOptions& options);
  std::span<const KeyPlace> keys;
  int missing_file_number = 0;    // Error::number() for a file that cannot be read
  bool may_lack_section = false;  // a file without `sign` is one that asks for nothing
};
std::span<const Dialect> dialects();

// Compiles `text`, named `path` in messages, with the dialect `name`, or with the first that
// recognises it if `name` is empty. Errors: usage (no such dialect), config.
Result<plan::DumpPlan> make_plan(const std::filesystem::path& path, std::string text, std::string_view name,
                                 const DialectOptions& options);

// Reads `path` (at most 16 MiB) and compiles it with the dialect `name`, or with the first that
// recognises it if `name` is empty. Errors: usage (no such dialect), config (also for a file that cannot be
// read).
Result<plan::DumpPlan> load_plan(const std::filesystem::path& path, std::string_view name,
                                 const DialectOptions& options);

}  // namespace opdump::dialect
