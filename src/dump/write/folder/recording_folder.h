// The folder of a recording: one rank's directory, held by the processes of one run at a time. A
// run is known by an id that all its processes share; each of them has a status file of its own there. The
// directory is locked as long as one of them records, by a lock that ends with the process.
#pragma once

#include <filesystem>
#include <string>

#include "base/file/kept_file.h"
#include "base/result.h"
#include "dump/status_file.h"
#include "dump/write/folder/existing_dump.h"

namespace opdump::dump {

// 16 hexadecimal digits that no other run has; from the system, not from a generator of the program's.
std::string make_run_id();

// Whether `text` is such an id.
bool is_run_id(std::string_view text);

struct FolderOptions {
  std::filesystem::path root;
  std::uint32_t rank = 0, device = 0;
  bool by_time = false;  // the scheme has directories of times
  Existing existing = Existing::refuse;
};

// Puts the dumps in a part of a folder aside, see put_dump_aside(): the recording that claims the folder
// discards them. Errors: io; a refusal -- somebody is recording there.
Result<std::uint64_t> begin_to_replace(const FolderPart& part);

class RecordingFolder {
 public:
  RecordingFolder() = default;

  // Creates {root}/rank_{R} and, as the process `status.process` of the run `status.run_id`, a status file in
  // it. Sets status.time_directory -- that of the run, if another process of it has begun, otherwise one that
  // no other run has -- and, where the recording is added to a dump, status.earlier. Errors: io; a refusal --
  // there is a dump and `existing` says to refuse, or another run is recording there; where runs have
  // directories of times and `existing` says to append, both may.
  static Result<RecordingFolder> claim(const FolderOptions& options, RecordingStatus& status);
  RecordingFolder(RecordingFolder&& other) noexcept { *this = std::move(other); }
  RecordingFolder& operator=(RecordingFolder&& other) noexcept;
  ~RecordingFolder();  // what never began leaves no status

  // Whether the recording was added to a dump that was there.
  bool was_added() const { return was_added_; }

  // Replaces the process's status file. Errors: io.
  Result<> write(const RecordingStatus& status);

  // The recording is over: another one may follow.
  void leave();

  // The same where nothing was recorded and nothing of it shall stay. Does nothing if it was added to a dump.
  void remove_trace();

  // Call it in a child made by fork(): the folder is the parent's.
  void abandon();

 private:
  friend class FolderClaim;
  KeptFile lock_;
  std::filesystem::path directory_;
  std::string name_;  // of the status file; empty: none
  bool was_added_ = false, began_ = false;
};

}  // namespace opdump::dump
