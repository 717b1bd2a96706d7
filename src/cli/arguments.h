// Parses the command line of one verb with CLI11, whose exceptions are caught here.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>

#include "base/result.h"

namespace opdump::cli {

// Parses `args` into the variables bound to `app`. Returns nothing if the verb should continue, otherwise the
// verb's result: 0 after --help (printed to stdout), or a usage error.
std::optional<Result<int>> parse_arguments(CLI::App& app, std::span<const char* const> args);

// Adds --max-expand to verbs that read tensors (base/text/expansion.h).
void add_expansion_limit(CLI::App& app);

// For Option::check: rejects everything except finite numbers of 0 or more.
CLI::Validator not_negative();

}  // namespace opdump::cli
