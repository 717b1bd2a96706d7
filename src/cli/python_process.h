// Scripts of users, run by the Python that they have, in a process of its own.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace opdump::cli
