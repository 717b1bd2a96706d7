// A program in a process of its own that answers lines: for each line that it reads from its standard input
// it writes one line to its standard output, and it ends when no more can come. Ctrl-C does not reach it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/process/connected_child.h"
#include "base/result.h"

namespace opdump {

class LineServer {
 public:
  // `command` is the program, looked for as a shell does, and its arguments. Errors:
  // not_found, io.
  static Result<LineServer> start(const std::vector<std::string>& command);
  // So many, up to 8. The first is the program; it has processes of its own answer at the descriptors 3, 4,
  // ..., which end with it.
  static Result<std::vector<LineServer>> start(const std::vector<std::string>& command, std::size_t count);

  // The answer to `line`, both without line feed. Errors: internal -- the program ended instead, and
  // how; limit -- the
  // answer is longer than kMaxAnswer. It answers no other line then.
  Result<std::string> ask(std::string line);

  // Ends the program. An ask() of another thread returns.
  void kill() const { child_.kill(); }

  static constexpr std::size_t kMaxAnswer = 64 << 20;

 private:
  LineServer(ConnectedChild child, std::string name) : child_(std::move(child)), name_(std::move(name)) {}
  ConnectedChild child_;
  std::string name_;
  std::string received_;  // beyond the last answer
};

}  // namespace opdump
