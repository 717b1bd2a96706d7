// An engine that gives no configuration of its own is recorded as `opdump run` says it in the environment.
#pragma once

#include <string_view>

#include "base/log.h"
#include "opdump/opdump.h"

namespace opdump::abi {

// Fills in the configuration and how it is read. False if the environment has none.
bool take_from_run(opdump_options& options);

// `opdump run` reads from a file whether a recording began ('+'), was closed ('-') or could not begin ('!').
void tell_run(char mark);

// A line that `opdump run` prints at its end: this library prints nothing.
void tell_run(LogLevel level, std::string_view line);

}  // namespace opdump::abi
