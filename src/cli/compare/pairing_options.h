// The options of `opdump compare` and `opdump blame` that say what is compared with what.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "compare/comparison.h"

namespace opdump::cli {

struct PairingArguments {
  std::string rows, pair_by;
};

void add_pairing_options(CLI::App& app, PairingArguments& arguments);

// Errors: usage.
Result<> use_pairing(const PairingArguments& arguments, compare::CompareOptions& options);

}  // namespace opdump::cli
