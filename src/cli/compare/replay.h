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
  // `limits`: a file of limits that it judges by as well; empty: none.
  explicit ReplayWorker(std::string python, std::string limits = {});
  // The answer to a request of blame/request.h. Errors: not_found, io; usage -- this Python has no torch;
  // config -- the file of limits is none.
  Result<std::string> ask(std::string request);

 private:
  Result<> start();
  std::string python_, limits_;
  std::optional<LineServer> server_;
};

}  // namespace opdump::cli
