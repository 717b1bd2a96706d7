// What `opdump run` records, for programs and for models: a configuration file, or options that stand for
// one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "cli/arguments.h"
#include "dialect/request.h"
#include "dump/write/folder/existing_dump.h"
#include "plan/dump_plan.h"

namespace opdump::cli {

struct RecordingArguments {
  std::string config, dialect, mode;
  std::string golden;  // the folder for golden data, see golden_data.h
  bool strict = false;
  dialect::Request request;  // -o and the options that go with it
  bool force = false, append = false, check_reads = false;
};

// Adds --config, -o and all others.
void add_recording_options(CLI::App& app, RecordingArguments& arguments);

// Whether `word` is one of them that has a value.
bool is_recording_option(std::string_view word);

inline plan::DumpPlan empty_plan() {
  plan::DumpPlan plan;
  plan.is_empty = true;
  return plan;
}

// A configuration, and the plan it compiles to.
struct RunConfig {
  std::string path;  // empty: none
  std::string text;  // made of options; prepare_recording() writes it to `path`. Empty: the file is there
  plan::DumpPlan plan = empty_plan();
};

// The configuration made of -o, else --config, else the file in OPDUMP_CONFIG or MINDSPORE_DUMP_CONFIG; none
// if there is none and `needs_one` is false. Errors: usage, config.
Result<RunConfig> find_config(const RecordingArguments& arguments, bool needs_one);

// The folder of a recording that is about to begin. Unless it is kept it becomes again what it was, at the
// end of this object: the dump that was to be replaced and its configuration are there, and no directory that
// was made is left.
class PreparedFolder {
 public:
  PreparedFolder() = default;
  PreparedFolder(PreparedFolder&& other) noexcept { *this = std::move(other); }
  PreparedFolder& operator=(PreparedFolder&& other) noexcept;
  ~PreparedFolder();

  // A recording was there, or may have been.
  void keep();

 private:
  friend class FolderPreparation;
  std::filesystem::path root_, config_path_, first_made_;  // the outermost directory that was made
  std::optional<std::string> earlier_config_;
  std::optional<dump::FolderPart> replaced_;
  bool is_pending_ = false;
};

// Prepares the folder for a recording of this rank, or of all ranks if the environment names none, and sets
// the environment variables for the processes of the run. Errors: usage, io.
Result<PreparedFolder> prepare_recording(const RunConfig& config, const RecordingArguments& arguments);

}  // namespace opdump::cli
