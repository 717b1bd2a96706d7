#include "cli/python_process.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/file.h"

extern char** environ;

namespace opdump::cli {
namespace fs = std::filesystem;

Result<TemporaryDirectory> TemporaryDirectory::make() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "opdump-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return io_error(name, "create directory");
  return TemporaryDirectory(name);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

Result<int> run_python(const char* script, const std::vector<std::string>& arguments) {
  const char* told = std::getenv("OPDUMP_PYTHON");
  const std::string python = told != nullptr && *told != '\0' ? told : "python3";
  std::vector<std::string> words = {python, "-B", "-c", script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  if (const int error = ::posix_spawnp(&child, python.c_str(), nullptr, nullptr, argv.data(), environ);
      error != 0) {
    errno = error;
    return io_error(python, "start");
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return io_error(python, "wait");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace opdump::cli
