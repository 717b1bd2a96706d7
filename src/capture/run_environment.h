// What explains that another run computes other numbers, as far as the process itself says it: its command,
// the machine, and the environment variables that runtimes and their libraries read.
#pragma once

#include "dump/status_file.h"

namespace opdump::capture {

dump::RunEnvironment describe_environment();

}  // namespace opdump::capture
