// A program that is recorded: it runs as it is, in a child, with the hook in its environment. Its output,
// exit code and signals are its own.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/file/fd.h"
#include "base/result.h"

namespace opdump::cli {

// What the processes of the program find in their environment.
struct ProgramSettings {
  std::string config{};  // its path; empty: the program has one of its own
  std::string compat{};  // names with commas between, see python/opdump/_compat.py
  std::string compiled{}, device_format{}, mode{}, dialect{};
  bool strict = false, best_effort = false;
};

// The recording writes to a file: + when it starts, - when it ends, ! when it could not start, x when an
// import that it waits for has failed; m when the program imports MindSpore, which records itself. A second
// one has the messages of processes with another stderr than ours, which the program may read.
class RunReport {
 public:
  RunReport();
  RunReport(const RunReport&) = delete;
  RunReport& operator=(const RunReport&) = delete;
  ~RunReport() { remove(); }
  // Also where a signal is about to end this process as it ended the program.
  void remove();
  const std::string& path() const { return path_; }  // empty if no file could be made
  // Where this run may make a folder for other files, which it removes itself; empty if `path` is. MindSpore
  // takes no path with a dot.
  std::string folder() const { return path_.empty() ? path_ : path_ + "-folder"; }
  std::ptrdiff_t count(char kind) const;
  std::string messages() const;

 private:
  std::string messages_path() const { return path_ + ".messages"; }
  std::string path_;
  Fd lock_;  // says that we live: what is left of a killed process, the next one removes
};

// Why a program that ran and has a configuration was not recorded, where nobody has said it.
std::string describe_absence(const RunReport& report);

// Puts the settings into our own environment, which the program inherits. Errors: not_found -- there is no
// Python package.
Result<> set_environment(const ProgramSettings& settings, const RunReport& report);

struct ProgramRun {
  int error = 0;             // errno, if it could not be executed
  int status = 0;            // as of waitpid()
  bool was_stopped = false;  // by `poll`
};
// Starts the program and waits for its end. Signals sent to us are meant for it. `poll`, if there is one, is
// called again and again meanwhile; once it returns true, the program is asked to end. Errors: io.
Result<ProgramRun> run_program(const std::vector<std::string>& command,
                               const std::function<bool()>& poll = {});

// The program that this process executes: opdump. Errors: io.
Result<std::filesystem::path> find_own_program();

// Says why the program could not be executed. Returns the exit code, as shells give it.
int report_failure(const std::string& program, int error);

// Ends as the program ended: returns its exit code, or raises the signal that killed it.
int pass_on(int status);

}  // namespace opdump::cli
