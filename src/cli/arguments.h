// The command line of one verb, read by CLI11. Its exceptions end here.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>

#include "base/result.h"

namespace opdump::cli {

// Reads `args` into the variables bound to `app`. Nothing: go on. Otherwise what the verb returns: 0 after
// --help (printed to stdout), or a usage error.
std::optional<Result<int>> parse_arguments(CLI::App& app, std::span<const char* const> args);

// --max-expand, of verbs that read tensors (base/expansion.h).
void add_expansion_limit(CLI::App& app);

// For Option::check: refuses what is not a finite number of 0 or more.
CLI::Validator not_negative();

}  // namespace opdump::cli
