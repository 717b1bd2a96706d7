// CANN's acl.json (cann.md 1): {"dump": {...}}. Checks run in the original's order and have its codes,
// EP0001 to EP0005 (cann.md 1.6), after the position. Error::number() is the return value of aclInit().
// Without DialectOptions::strict the forms in the documentation also work: $HOME and ~ in dump_path, and an
// empty dump_list for the operators that a program executes individually.
#pragma once

#include <string>

#include "base/result.h"
#include "base/text/json.h"
#include "dialect/options.h"
#include "plan/dump_plan.h"

namespace opdump::dialect {

// Return values of aclInit() and aclmdlSetDump(), cann.md 1.7.
inline constexpr int kAclInvalidFile = 100003;
inline constexpr int kAclParseFile = 100006;
inline constexpr int kAclInvalidDumpConfig = 100009;
inline constexpr int kAclInternalError = 500000;

// An object with the member "dump".
bool recognises_acl(const nlohmann::json& root);

// Its objects and their keys.
std::span<const KeyPlace> acl_keys();

// JSON of at most 10 MiB and 10 nested braces or brackets; blank text is {}. Errors: config, with number.
Result<JsonDocument> parse_acl(std::string name, std::string text);

// Fills in everything except DumpPlan::dialect, config_path and config_text. Errors: config, with number.
Result<plan::DumpPlan> compile_acl(const JsonDocument& document, const DialectOptions& options);

}  // namespace opdump::dialect
