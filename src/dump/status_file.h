// opdump_status.json: how a recording ended. Written when recording starts (state "recording") and replaced
// when it ends, so a run that was killed differs from one that finished. Each process that records into a
// rank has a file of its own (recording_folder.h). Page: docs/formats/status.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
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

// A recording that was there before, and that a later one was added to.
struct EarlierRecording {
  std::string run_id, state;
  std::uint64_t started_us = 0, ended_us = 0;
  std::int64_t first_step = -1, last_step = -1;
};

// Names and values, as "OMP_NUM_THREADS" and "2".
using RunEnvironment = std::map<std::string, std::string>;

struct RecordingStatus {
  // "recording", "complete" (nothing lost), "incomplete" (see losses), "idle" (nothing lost so far, and
  // nothing under way: a process that waits for work)
  std::string state = "recording";
  std::string run_id;  // 16 hexadecimal digits, the same for all processes of a recording; empty: unknown
  std::string opdump_version;
  std::string process;  // empty, or "worker0": its file is opdump_status.worker0.json
  // Where the scheme has directories of times: that of this run, "20260131120000". Else empty.
  std::string time_directory;
  std::string runtime;  // "torch 1.13.0"
  std::string config_path;
  std::string config_text;  // of the configuration, if it asks for a part of the operators or tensors
  std::int64_t pid = 0;
  std::uint64_t started_us = 0, ended_us = 0;  // microseconds since the Unix epoch; ended 0 while recording
  std::uint64_t operator_count = 0;            // different operators recorded
  std::uint64_t call_count = 0;                // their executions
  std::uint64_t tensor_count = 0, tensor_bytes = 0, row_count = 0;
  std::int64_t first_step = -1, last_step = -1;  // recorded; -1 for none
  // What ran after the last step lies where this step would: it is none. -1: nothing did.
  std::int64_t tail_step = -1;
  bool lacks_tail = false;  // the plan does not want what ran after the last step, if anything did
  // The last step that the program ran, recorded or not; -1: unknown.
  std::int64_t reached_step = -1;
  std::int64_t cut_step = -1;  // in which the program was stopped, or -1
  bool reads_checked = false;  // a tensor that was changed in memory, unannounced, is recorded as it was read
  RunEnvironment environment;  // what may explain that another run computes other numbers
  std::vector<Loss> losses;
  std::vector<std::string> warnings;
  std::vector<EarlierRecording> earlier;  // whose files lie among those of this one
};

// Names the file of the process "worker0" opdump_status.worker0.json, and opdump_status.worker0-2.json if
// `number` is 2: a rank may have several processes of one name. The main process has the name "".
std::string status_file_name(std::string_view process, unsigned number = 1);

// Replaces `name` in the directory, or what the status's process is called. Errors: io.
Result<> write_status(const std::filesystem::path& rank_directory, const RecordingStatus& status,
                      std::string_view name = {});

std::string encode_status(const RecordingStatus& status);

// Errors: not_found, io, corrupt, unsupported (of a later version).
Result<RecordingStatus> read_status_file(const std::filesystem::path& path);

// Whether a file of this name says how a process's recording ended.
bool is_status_file_name(std::string_view name);

// A status and the file that it is from.
struct StatusFile {
  std::string name;
  Result<RecordingStatus> status;
};
// Those of all processes of a rank, in the order of their names; the main process's is the first.
std::vector<StatusFile> list_statuses(const std::filesystem::path& rank_directory);

// How the recording of a rank as a whole ended: the main process's status with what the others (data-loading
// workers) recorded and lost. Of runs that recorded there at once, those that have one of the `times` for
// their directory; if no times are given, all. Errors: not_found (a dump of another tool has none), corrupt.
Result<RecordingStatus> read_status(const std::filesystem::path& rank_directory,
                                    const std::set<std::string>& times = {});

}  // namespace opdump::dump
