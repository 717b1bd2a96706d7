// What a recording makes on the disk before there is a session.
#pragma once

#include <memory>

#include "base/result.h"
#include "capture/session_options.h"
#include "dump/operator_log.h"
#include "dump/status_file.h"
#include "dump/write/budget.h"
#include "dump/write/folder/recording_folder.h"
#include "dump/write/scheme_writer.h"
#include "plan/dump_plan.h"

namespace opdump::capture {

struct RecordingStart {
  dump::RecordingStatus status;
  dump::RecordingFolder folder;
  std::unique_ptr<dump::SchemeWriter> scheme;
  std::shared_ptr<const dump::Budget> budget;  // of what `scheme` writes; null: none
  dump::OperatorLogWriter log;
  bool links_work = false;  // files have hard links; always false where only statistics are wanted
};

// Errors: usage (a plan that cannot do without files), io, a refusal of the folder.
Result<RecordingStart> start_recording(const plan::DumpPlan& plan, const SessionOptions& options);

}  // namespace opdump::capture
