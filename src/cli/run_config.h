// The configuration of a run: the same for a program and for models.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/arguments.h"
#include "plan/dump_plan.h"

namespace opdump::cli {

// `given`, or what OPDUMP_CONFIG or MINDSPORE_DUMP_CONFIG names. Errors: usage.
Result<std::string> find_config(const std::string& given);

// What the configuration asks for. Errors: config, usage -- the file is not a configuration in `dialect`
// (empty: any) for `mode` (empty: the file decides).
Result<plan::DumpPlan> check_config(const std::string& config, const std::string& dialect,
                                    const std::string& mode, bool strict);

// --force and --append: what becomes of a dump that the folder has already.
struct ExistingArguments {
  bool force = false, append = false;
};

// Adds the two.
void add_existing_options(CLI::App& app, ExistingArguments& arguments);

// Makes room for a recording of this rank, or of all ranks where the environment says none, and puts what the
// processes of the run need to know into the environment. Errors: usage, io.
Result<> prepare_folder(const plan::DumpPlan& plan, const ExistingArguments& arguments);

}  // namespace opdump::cli
