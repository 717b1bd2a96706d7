// Which run a recording belongs to. The processes of a run know its id from the environment: `opdump run`
// puts it there, or else the first recording. A recording that begins when one of this process has ended is
// another run.
#pragma once

#include <string>

namespace opdump::capture {

inline constexpr const char* kRunIdVariable = "OPDUMP_RUN_ID";

// The id for a recording that begins; children learn of it.
std::string begin_run();

// A recording of this process has ended.
void end_run(const std::string& id);

}  // namespace opdump::capture
