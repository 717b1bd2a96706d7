// The logs of PyTorch's DebugMode (format/tables/debug_mode.h), read: operators with the names that a
// recording of ours gives them, as far as the log says where they ran.
#pragma once

#include <filesystem>
#include <string_view>

#include "dump/read/dump_set.h"

namespace opdump::dump {

// Hands the operators of a log to `take`, in its order. Their names begin with `prefix`. Steps count from 0:
// a step ends with an optimizer's, or, in a log without an optimizer, when an outermost module is called that
// the step has called before. Appends to `problems`.
void read_debug_mode_file(const std::filesystem::path& path, std::string_view prefix, Problems& problems,
                          const TakeRun& take);

}  // namespace opdump::dump
