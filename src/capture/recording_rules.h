// What a plan and its scheme mean for each tensor. Fixed when the session opens.
#pragma once

#include <cstdint>
#include <string_view>

#include "capture/jobs/job.h"
#include "capture/operand.h"
#include "dump/write/scheme_writer.h"
#include "plan/dump_plan.h"

namespace opdump::capture {

// Up to this size statistics are computed on the calling thread, while the tensor is in its cache: handing it
// over costs more (bench/torch_overhead.py, transformer: 1.28 x with 32 KiB, 1.21 x with 1 MiB).
inline constexpr std::uint64_t kSmallBytes = 1024 * 1024;

struct RecordingRules {
  RecordingRules(const plan::DumpPlan& plan, const dump::SchemeWriter& scheme);

  JobNeeds needs;
  std::uint64_t inline_bytes = 0;  // tensors up to this size are examined at once, and leave no job
  bool order_matters = false;      // of elements: to files and hashes, not to statistics
  bool holds = false;              // whether the data of a call is wanted is known only when it ends
  bool lists_all_tensors = false;  // see SchemeWriter, as the next one
  bool writes_calls = false;
  bool writes_rows = false;       // of statistics
  bool takes_statistics = false;  // that the engine computed, instead of tensors

  // Why the dump will have no trace of a tensor; empty if it will have one.
  std::string_view reason_not_to_dump(const Operand& operand) const;
};

}  // namespace opdump::capture
