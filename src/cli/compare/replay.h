// The worker that runs recorded operators again: python/opdump/_replay.py in the user's Python.
#pragma once

#include <optional>
#include <string>

#include "base/process/line_server.h"
#include "base/result.h"
#include "dump/read/dump_set.h"

namespace opdump::cli {

// Starts when it is asked first, or before.
class ReplayWorker {
 public:
  // `python` is the program; empty: what OPDUMP_PYTHON names, else python3.
  // `limits`: a file of limits that it judges by as well; empty: none.
  // `dump`: one of those that it is asked about; an error names the Python that recorded it.
  ReplayWorker(std::string python, const dump::DumpSet& dump, std::string limits = {});
  // To be asked soon: importing torch takes a while. Errors are those of ask().
  void prepare();
  // The answer to a request of blame/request.h. Errors: not_found, io; usage -- this Python has no torch;
  // config -- the file of limits is none.
  Result<std::string> ask(std::string request);

 private:
  Result<> start();
  std::string python_, limits_, recorded_with_;
  std::optional<LineServer> server_;
  bool was_asked_ = false;
};

}  // namespace opdump::cli
