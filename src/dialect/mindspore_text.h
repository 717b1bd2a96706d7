// The small languages inside data_dump.json's strings: iteration, path, kernels, net_name (mindspore.md 1.3
// to 1.6). Errors are Code::config with the reason alone; the caller adds key, value and position.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text/json.h"
#include "dialect/options.h"
#include "plan/op_selector.h"
#include "plan/step_set.h"

namespace opdump::dialect {

// "all", or steps and inclusive ranges: "0|5-8|100-120".
// Strict: no blanks; a segment that is neither N nor A-B with A <= B is dropped, as the original drops it,
// and listed in `never_matching`. Otherwise: blanks around steps and dashes are fine, and such a segment is
// an error.
Result<plan::StepSet> parse_iteration(std::string_view text, bool strict,
                                      std::vector<std::string>& never_matching);

// The directory that `text` names. Strict: letters, digits, '-', '_', '/', and absolute. Otherwise "~/",
// "$NAME" and "${NAME}" are replaced, "$$" is a '$', everything but control characters is allowed, and a
// relative path starts at the current directory.
Result<std::filesystem::path> parse_path(std::string_view text, const DialectOptions& options);

// What is allowed: letters, digits, '-' and '_', at least one.
Result<> check_net_name(std::string_view text);

// One element of `kernels`.
struct KernelRule {
  plan::RuleKind kind;
  std::string text;
};

// Nothing for an element without text: "", " ". Strict: the text is taken from the element's JSON spelling,
// so a backslash arrives twice, as in the original. `search`: regular expressions match a part of the name
// (O2) rather than the whole.
Result<std::optional<KernelRule>> parse_kernel(const nlohmann::json& element, bool strict, bool search);

}  // namespace opdump::dialect
