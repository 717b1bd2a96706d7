// opdump_status.json: how a recording ended. Written when recording starts (state "recording") and replaced
// when it ends, so a run that was killed is told from one that finished. Page: docs/formats/status.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace opdump::dump {

inline constexpr std::string_view kStatusFileName = "opdump_status.json";  // of the main process

// Something that should be in the dump and is not.
struct Loss {
  std::string what;    // "tensor not written", "recording stopped"
  std::string reason;  // "No space left on device"
  std::uint64_t count = 0;
  std::string first;  // the first one it happened to: a file or an operator and step
};

struct Status {
  // "recording", "complete" (nothing lost), "incomplete" (see losses), "idle" (nothing lost so far, and
  // nothing under way: a process that waits for work)
  std::string state = "recording";
  std::string opdump_version;
  std::string process;  // empty, or "worker0": its file is opdump_status.worker0.json
  std::string runtime;  // "torch 1.13.0"
  std::string config_path;
  std::int64_t pid = 0;
  std::uint64_t started_us = 0, ended_us = 0;  // microseconds since the Unix epoch; ended 0 while recording
  std::uint64_t operator_count = 0;            // different operators recorded
  std::uint64_t call_count = 0;                // their executions
  std::uint64_t tensor_count = 0, tensor_bytes = 0, row_count = 0;
  std::int64_t first_step = -1, last_step = -1;  // recorded; -1 for none
  // What ran after the last step lies where this step would: it is none. -1: nothing did.
  std::int64_t tail_step = -1;
  std::int64_t cut_step = -1;  // in which the program was stopped, or -1
  std::vector<Loss> losses;
  std::vector<std::string> warnings;
};

Result<> write_status(const std::filesystem::path& rank_directory, const Status& status);

// The main process's status, with the losses of the others (data-loading workers) added to its own.
// Errors: not_found (a dump of another tool has none), corrupt.
Result<Status> read_status(const std::filesystem::path& rank_directory);

}  // namespace opdump::dump
