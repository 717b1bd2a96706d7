// The shapes of what one thread of FFTS+ has of its operator's tensors: the operator's attribute tells them,
// the tensors' own messages do not (cann.md 3.2).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "msaccucmp/read/dump.h"

namespace opdump::msaccucmp {

struct ThreadShapes {
  std::vector<model::Shape> inputs, outputs;
};
struct FoundThread {
  Status status = Status::ok;
  std::optional<ThreadShapes> shapes;  // nothing if the hardware did not divide the operator among threads
};
// The thread's number is the last but one part of the file's name. Says on the log what the original says.
FoundThread find_thread_shapes(const DumpFile& file, Log& log);

}  // namespace opdump::msaccucmp
