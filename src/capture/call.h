// One execution of an operator that is being recorded: from opdump_begin() until its rows are written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "capture/job.h"
#include "capture/session.h"
#include "dump/layout.h"
#include "math/stats.h"
#include "model/tensor_view.h"

namespace opdump::capture {

struct RecordedSlot {
  dump::SlotAddress address;
  model::DType dtype;
  model::Shape shape;
  std::uint64_t data_bytes = 0;
  bool owns_file = false;    // the job writes this slot's file; other slots link to it
  std::shared_ptr<Job> job;  // null: what there is to know is in statistics
  math::Statistics statistics{};
};

struct Call {
  const DefinedOperator* op;
  std::int64_t step;
  std::vector<RecordedSlot> slots;
  bool is_done() const {
    return std::ranges::all_of(slots,
                               [](const RecordedSlot& slot) { return !slot.job || slot.job->is_done(); });
  }
};

}  // namespace opdump::capture
