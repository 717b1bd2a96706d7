// `opdump VERB ...`: one file per verb, one row per verb in verbs.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace opdump::cli {

// Exit statuses. 0 and 1 are complete answers; 2 and 3 are not.
enum class Exit : int { match = 0, mismatch = 1, usage = 2, incomplete = 3 };

// How a verb uses several processes started by mpirun.
enum class Together : std::uint8_t {
  leader,  // the first one does everything, the others end at once
  shared,  // they divide the work
  each,    // each does everything
};

struct Verb {
  std::string_view name;     // "compare"
  std::string_view summary;  // one line of `opdump --help`, no full stop
  // `args` are the arguments after the verb. Returns the exit status: an Exit, or for `run` the status of the
  // recorded program.
  Result<int> (*run)(std::span<const char* const> args);
  Together together = Together::leader;
  bool pages = false;   // what it prints may be long, and is for people: a pager shows it
  bool judges = false;  // status 0 says that all is well: not of an answer that nobody has read to its end
};

std::span<const Verb> verbs();

// The whole program: finds the verb in `args` (without the program's name), runs it, prints its error as
// "opdump: message" on stderr. Returns the exit status of the process.
int run_command_line(std::span<const char* const> args);

// The exit status of an error.
Exit exit_of(Code code);

// The output of `opdump --help` and `opdump --version`.
std::string help_text();
std::string version_text();

// One per verb, each in its own file.
Result<int> run_bisect(std::span<const char* const> args);
Result<int> run_blame(std::span<const char* const> args);
Result<int> run_cache(std::span<const char* const> args);
Result<int> run_compare(std::span<const char* const> args);
Result<int> run_completion(std::span<const char* const> args);
Result<int> run_convert(std::span<const char* const> args);
Result<int> run_diff(std::span<const char* const> args);
Result<int> run_doctor(std::span<const char* const> args);
Result<int> run_export(std::span<const char* const> args);
Result<int> run_graph(std::span<const char* const> args);
Result<int> run_index(std::span<const char* const> args);
Result<int> run_ir(std::span<const char* const> args);
Result<int> run_ls(std::span<const char* const> args);
Result<int> run_plan(std::span<const char* const> args);
Result<int> run_query(std::span<const char* const> args);
Result<int> run_rules(std::span<const char* const> args);
Result<int> run_report(std::span<const char* const> args);
Result<int> run_reproduce(std::span<const char* const> args);
Result<int> run_run(std::span<const char* const> args);
Result<int> run_selftest(std::span<const char* const> args);
Result<int> run_show(std::span<const char* const> args);
Result<int> run_view(std::span<const char* const> args);
Result<int> run_watch(std::span<const char* const> args);
Result<int> run_weights(std::span<const char* const> args);

}  // namespace opdump::cli
