// Scripts of users, run by the Python that they have, in a process of its own.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/process/connected_child.h"
#include "base/result.h"

namespace opdump::msaccucmp {

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

// A script, its text, that stays in a process of its own, run by python3 or what OPDUMP_PYTHON names: for
// each line that it reads from file descriptor kConnection it writes one byte there when it is done, and it
// ends when no more can come. Nothing is written beside the modules it imports.
class PythonServer {
 public:
  static constexpr int kConnection = 3;

  // `arguments` are sys.argv[1:]. Errors: io.
  static Result<PythonServer> start(const char* script, const std::vector<std::string>& arguments);
  // The byte with which the script answers `line`, which has no line feed. One thread at a time. Errors:
  // internal -- it ended instead; it will answer no other line.
  Result<int> ask(std::string line);

 private:
  explicit PythonServer(ConnectedChild child) : child_(std::move(child)) {}
  ConnectedChild child_;
};

// Servers of one script: as many as are asked at once, started when they are needed.
class PythonServers {
 public:
  PythonServers(const char* script, std::vector<std::string> arguments)
      : script_(script), arguments_(std::move(arguments)) {}

  // Asks as PythonServer does; a server that ended is not asked again. Thread-safe. Errors: internal, io.
  Result<int> ask(std::string line);

 private:
  const char* script_;
  std::vector<std::string> arguments_;
  std::mutex mutex_;  // guards idle_
  std::vector<PythonServer> idle_;
};

}  // namespace opdump::msaccucmp
