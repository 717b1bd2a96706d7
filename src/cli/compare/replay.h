// The worker that runs recorded operators again: python/opdump/_replay.py in the user's Python.
#pragma once

#include <optional>
#include <string>

#include "base/process/line_server.h"
#include "base/result.h"

namespace opdump::cli {

// Started when it is asked first.
class ReplayWorker {
 public:
  // `python` is the program; empty: what OPDUMP_PYTHON names, else python3.
  explicit ReplayWorker(std::string python);
  // The answer to a request of blame/request.h. Errors: not_found, io; usage -- this Python has no torch.
  Result<std::string> ask(std::string request);

 private:
  Result<> start();
  std::string python_;
  std::optional<LineServer> server_;
};

}  // namespace opdump::cli
