// A program in a process of its own, whose output goes to a file. Ctrl-C at a terminal reaches it, too.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace opdump {

class LoggedChild {
 public:
  struct Plan {
    std::vector<std::string> command = {};  // the program's path, and its arguments
    std::vector<std::pair<std::string, std::string>> environment = {};  // added to that of this process
    std::filesystem::path directory = {};  // that it runs in; empty: that of this process
    std::filesystem::path log = {};        // replaced; gets its stdout and stderr
  };
  // Errors: io, not_found -- no such program or directory.
  static Result<LoggedChild> start(const Plan& plan);
  LoggedChild(LoggedChild&& other) noexcept : child_(std::exchange(other.child_, 0)) {}
  LoggedChild& operator=(LoggedChild&&) = delete;
  ~LoggedChild();  // ends it

  // The exit status once it has ended, 128 + the number of the signal that ended it; nothing if it still runs
  // after `most`.
  std::optional<int> wait(std::chrono::milliseconds most);
  // Asks it to end, and kills it after some seconds.
  void stop();

 private:
  explicit LoggedChild(pid_t child) : child_(child) {}
  pid_t child_ = 0;
};

}  // namespace opdump
