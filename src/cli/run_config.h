// The configuration of a run: the same for a program and for models.
#pragma once

#include <string>

#include "base/result.h"
#include "plan/dump_plan.h"

namespace opdump::cli {

// `given`, or what OPDUMP_CONFIG or MINDSPORE_DUMP_CONFIG names. Errors: usage.
Result<std::string> find_config(const std::string& given);

// What the configuration asks for. Errors: config, usage -- the file is not a configuration in `dialect`
// (empty: any) for `mode` (empty: the file decides).
Result<plan::DumpPlan> check_config(const std::string& config, const std::string& dialect,
                                    const std::string& mode, bool strict);

}  // namespace opdump::cli
