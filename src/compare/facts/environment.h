// This finds in what the environments of two runs differ, as far as their status files say it.
#pragma once

#include <optional>
#include <string>

#include "dump/read/dump_set.h"

namespace opdump::compare {

// "environments differ: threads is 2 in golden and 1 in actual, ...". Nothing if they are alike or unknown.
// The commands do not count: they name files.
std::optional<std::string> describe_environments(const dump::DumpSet& golden, const dump::DumpSet& actual);

}  // namespace opdump::compare
