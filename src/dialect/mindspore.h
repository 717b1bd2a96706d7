// MindSpore's data_dump.json (mindspore.md 1): {"common_dump_settings": {...}, "e2e_dump_settings": {...}}.
// The reference is release 2.5, with `initial_iteration` of 2.6. DialectOptions::strict rejects exactly what
// the original rejects. Without it, the forms in its documentation work, and input that the original accepts
// but silently ignores is an error.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "base/text/json.h"
#include "dialect/options.h"
#include "plan/dump_plan.h"

namespace opdump::dialect {

// An object with one of the two sections, or with the section of old releases.
bool recognises_mindspore(const nlohmann::json& root);

// Its sections and their keys.
std::span<const KeyPlace> mindspore_keys();

// The resolved path must end in ".json". Errors: config.
Result<> check_mindspore_path(const std::filesystem::path& resolved);

// Fills in everything except DumpPlan::dialect, config_path and config_text. Errors: config, in the
// original's order of evaluation.
Result<plan::DumpPlan> compile_mindspore(const JsonDocument& document, const DialectOptions& options);

}  // namespace opdump::dialect
