// The option --rows of `opdump compare` and `opdump blame`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "compare/comparison.h"

namespace opdump::cli {

void add_rows_option(CLI::App& app, std::string& rows);

// Errors: usage.
Result<> use_rows(const std::string& rows, compare::CompareOptions& options);

}  // namespace opdump::cli
