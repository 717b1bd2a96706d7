// Scripts of users, run by the Python that they have, in a process of its own.
#pragma once

#include <filesystem>
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

// A script that stays and does many pieces of work: for each line that it reads from file descriptor
// kConnection it writes one character there when it is done, and it ends when no more can come.
class PythonServer {
 public:
  static constexpr int kConnection = 3;

  // As run_python(). Errors: io.
  static Result<PythonServer> start(const char* script, const std::vector<std::string>& arguments);
  PythonServer(PythonServer&& other) noexcept
      : child_(std::exchange(other.child_, 0)), connection_(std::move(other.connection_)) {}
  PythonServer& operator=(PythonServer&&) = delete;
  ~PythonServer();  // waits for its end

  // Returns when the script has dealt with `line`, which has no line feed. One thread at a time. Errors:
  // internal -- it ended instead; it will deal with no other line.
  Result<> ask(std::string line);

 private:
  PythonServer(int child, Fd connection) : child_(child), connection_(std::move(connection)) {}
  int child_ = 0;
  Fd connection_;
};

}  // namespace opdump::cli
