// Joins the executions of a rank with its log: the third stage of reading a dump.
#pragma once

#include <cstdint>

#include "dump/read/log_index.h"
#include "dump/read/runs.h"

namespace opdump::dump {

// Sets which operator each execution of `rank` is, and adds an execution without data where the log knows an
// operator in a step of which nothing else was recorded.
void join_log(Runs& runs, std::uint32_t rank, LogIndex& log);

}  // namespace opdump::dump
