// What `opdump run` records, for programs and for models: a configuration file, or options that stand for
// one.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/arguments.h"
#include "dialect/request.h"
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

// Prepares the folder for a recording of this rank, or of all ranks if the environment names none, and sets
// the environment variables for the processes of the run. Errors: usage, io.
Result<> prepare_recording(const RunConfig& config, const RecordingArguments& arguments);

}  // namespace opdump::cli
