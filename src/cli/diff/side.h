// A command line that is compared with another one, and its recordings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/diff/command_line.h"
#include "dump/read/dump_set.h"

namespace opdump::cli {

struct DiffSide {
  std::string name{};  // "A"
  CommandLine command{};
  std::filesystem::path directory{};  // that it runs in; empty: the current one
  std::filesystem::path folder{};     // for its recordings
  std::string revision{};             // "main (3f2a1b9c net: faster)"; empty: none was chosen
};

// A run of the command.
struct SideRun {
  std::filesystem::path dump{}, log{};
  int status = 0;            // its exit status
  std::string last_line{};   // of what it printed, if it ended with an error
  bool was_stopped = false;  // by `poll`
};

// The arguments of `opdump run` between -o and the command: {"--steps", "137"}.
using RecordingOptions = std::vector<std::string>;

// Runs the command under `opdump run`, which records into the folder `name` in that of the side. What the
// command prints goes to a file beside it. A line on a terminal says for how long it runs. `poll`, if there
// is one, is called again and again meanwhile; once it returns true, the command is asked to end. Errors:
// not_found, io, usage -- it could not be started, or recorded nothing; the message is a sentence.
Result<SideRun> record(const DiffSide& side, const std::string& name, const RecordingOptions& options,
                       const std::function<bool()>& poll = {});

// The same as a line for a shell.
std::string recording_command(const DiffSide& side, const std::string& name, const RecordingOptions& options);

// "A ended with exit status 1: ..."; empty if it ended well.
std::string describe_end(const DiffSide& side, const SideRun& recording);

// Opens what was recorded. Errors: those of DumpSet::open.
Result<dump::DumpSet> open_recording(const DiffSide& side, const SideRun& recording);

}  // namespace opdump::cli
