// The verbs that are written in Python, because they are about Python: doctor and cache.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/python_package.h"
#include "cli/verb.h"

namespace opdump::cli {
namespace {

// Returns only if it could not be started. The package is behind what that Python has: it may lie among
// packages for another one.
Result<int> run_module(const char* name, std::string python, const std::vector<std::string>& arguments) {
  OPDUMP_TRY(const std::filesystem::path package, find_python_package());
  if (python.empty())
    if (const char* const chosen = std::getenv("OPDUMP_PYTHON"); chosen != nullptr) python = chosen;
  if (python.empty()) python = "python3";
  const std::string script = "import sys; sys.path.append(sys.argv.pop(1)); from opdump import " +
                             std::string(name) + "; " + name + ".main()";
  std::vector<std::string> command{python, "-c", script, package.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  return Error(Code::not_found, python + ": " + std::strerror(errno) + "; name another Python with --python");
}

constexpr const char* kPython = "the Python that has the package; default: $OPDUMP_PYTHON, else python3";

}  // namespace

Result<int> run_doctor(std::span<const char* const> args) {
  std::string python;
  CLI::App app("Says what opdump finds on this machine, and what to do about each problem.", "opdump doctor");
  app.add_option("--python", python,
                 "the Python of the program that is to be recorded; default: $OPDUMP_PYTHON, else python3")
      ->type_name("PYTHON");
  app.footer("Exit status: 0 a program can be recorded, 3 there is a problem.");
  if (auto finished = parse_arguments(app, args)) return std::move(*finished);
  return run_module("_doctor", python, {});
}

Result<int> run_cache(std::span<const char* const> args) {
  std::string python, action;
  CLI::App app("Lists the recorders that were built on this machine, or removes them.", "opdump cache");
  app.add_option("ACTION", action, "clean: remove them; the next program that needs one builds it again")
      ->check(CLI::IsMember({"clean"}))
      ->type_name("clean");
  app.add_option("--python", python, kPython)->type_name("PYTHON");
  if (auto finished = parse_arguments(app, args)) return std::move(*finished);
  return run_module("_cache", python, action.empty() ? std::vector<std::string>{} : std::vector{action});
}

}  // namespace opdump::cli
