// The configuration of `opdump run`, for programs and for models.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/arguments.h"
#include "plan/dump_plan.h"

namespace opdump::cli {

// `given`, or the file in OPDUMP_CONFIG or MINDSPORE_DUMP_CONFIG. Errors: usage.
Result<std::string> find_config(const std::string& given);

// Compiles the configuration. Errors: config, usage -- the file is not a configuration in `dialect`
// (empty: any) for `mode` (empty: derived from the file).
Result<plan::DumpPlan> check_config(const std::string& config, const std::string& dialect,
                                    const std::string& mode, bool strict);

// --force and --append, for a folder that already has a dump.
struct ExistingArguments {
  bool force = false, append = false;
};

// Adds the two.
void add_existing_options(CLI::App& app, ExistingArguments& arguments);

// Prepares the folder for a recording of this rank, or of all ranks if the environment names none, and sets
// the environment variables for the processes of the run. Errors: usage, io.
Result<> prepare_folder(const plan::DumpPlan& plan, const ExistingArguments& arguments);

}  // namespace opdump::cli
