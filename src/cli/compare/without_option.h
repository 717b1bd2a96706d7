// The option --without of `opdump compare` and `opdump blame`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "compare/comparison.h"

namespace opdump::cli {

void add_without_option(CLI::App& app, std::vector<std::string>& names);

// Errors: usage, for a name that no rule has.
Result<> switch_off(const std::vector<std::string>& names, compare::CompareOptions& options);

}  // namespace opdump::cli
