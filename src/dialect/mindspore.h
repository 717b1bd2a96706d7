// MindSpore's data_dump.json (mindspore.md 1): {"common_dump_settings": {...}, "e2e_dump_settings": {...}}.
// The reference is release 2.5; `initial_iteration` of 2.6 is known too. With Options::strict exactly what
// the original refuses is refused; without it, what its documentation shows works, and what it accepts but
// silently ignores is an error that says so.
#pragma once

#include <filesystem>

#include "dialect/dialects.h"

namespace opdump::dialect {

// An object with one of the two sections, or with the one that old releases had.
bool recognises_mindspore(const nlohmann::json& root);

// Its sections and what belongs in them.
std::span<const KeyPlace> mindspore_keys();

// The resolved path must end in ".json". Errors: config.
Result<> check_mindspore_path(const std::filesystem::path& resolved);

// Everything but DumpPlan::dialect, config_path and config_text. Errors: config, in the original's order of
// evaluation.
Result<plan::DumpPlan> compile_mindspore(const JsonDocument& document, const Options& options);

}  // namespace opdump::dialect
