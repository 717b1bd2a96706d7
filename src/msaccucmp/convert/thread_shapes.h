// The shapes of what one thread of FFTS+ has of its operator's tensors: the operator's attribute holds them,
// the tensors' own messages do not (cann.md 3.2).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "msaccucmp/log.h"
#include "msaccucmp/read/dump.h"

namespace opdump::msaccucmp {

struct ThreadShapes {
  std::vector<model::Shape> inputs, outputs;
};
// Nothing if the hardware did not divide the operator among threads. The thread's number is the last but one
// part of the file's name. Failures: invalid_path, kCrash, one of ours; the log has the reasons.
Outcome<std::optional<ThreadShapes>> find_thread_shapes(const DumpFile& file, Log& log);

}  // namespace opdump::msaccucmp
