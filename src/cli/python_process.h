// Scripts of users, run by the Python that they have, in a process of its own.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace opdump::cli {

// A directory of the system's for temporary files that goes when this does.
class TemporaryDirectory {
 public:
  // Errors: io.
  static Result<TemporaryDirectory> make();
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// Runs `script`, its text, with sys.argv[1:] = `arguments`, by python3 or what OPDUMP_PYTHON names, and
// returns the exit status; -1 if a signal ended it. Nothing is written beside the modules it imports. Errors:
// io.
Result<int> run_python(const char* script, const std::vector<std::string>& arguments);

// A script that answers requests, one process for all of them. It is started for the first one, and again if
// it ended. The script finds a socket at descriptor 3; each request is a line, each answer a line with a
// number.
class PythonServer {
 public:
  // `arguments` are sys.argv[1:].
  PythonServer(const char* script, std::vector<std::string> arguments)
      : script_(script), arguments_(std::move(arguments)) {}
  PythonServer(const PythonServer&) = delete;
  PythonServer& operator=(const PythonServer&) = delete;
  ~PythonServer();

  // The answer; -1 if the process ended instead. Thread-safe: one request after the other. Errors: io.
  Result<int> ask(const std::string& line);

 private:
  Result<> start();
  void stop();

  const char* script_;
  std::vector<std::string> arguments_;
  std::mutex mutex_;  // guards what follows
  Fd socket_;
  int child_ = 0;
};

}  // namespace opdump::cli
