// A program in a process of its own that answers lines: for each line that it reads from its standard input
// it writes one line to its standard output, and it ends when no more can come.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace opdump {

class LineServer {
 public:
  // `command` is the program, looked for as a shell does, and its arguments. Errors:
  // not_found, io.
  static Result<LineServer> start(const std::vector<std::string>& command);
  LineServer(LineServer&& other) noexcept
      : child_(std::exchange(other.child_, 0)),
        connection_(std::move(other.connection_)),
        name_(std::move(other.name_)),
        received_(std::move(other.received_)) {}
  LineServer& operator=(LineServer&&) = delete;
  ~LineServer();  // waits for its end

  // The answer to `line`, both without line feed. Errors: internal -- the program ended instead; limit -- the
  // answer is longer than kMaxAnswer. It answers no other line then.
  Result<std::string> ask(std::string line);

  static constexpr std::size_t kMaxAnswer = 64 << 20;

 private:
  LineServer(int child, Fd connection, std::string name)
      : child_(child), connection_(std::move(connection)), name_(std::move(name)) {}
  int child_ = 0;
  Fd connection_;  // a socket: both ends of the conversation
  std::string name_;
  std::string received_;  // beyond the last answer
};

}  // namespace opdump
