// What the parts of a session share without a lock: whether it records, and in which step.
#pragma once

#include <atomic>
#include <cstdint>

namespace opdump::capture {

struct RecordingState {
  std::atomic<bool> recording{false};  // the current step is selected and nothing has failed
  std::atomic<bool> stopped{false};    // nothing is recorded any more: a failure, or an excluded device
  std::atomic<std::int64_t> step{0};   // counted from 0
  std::int64_t initial_step = 0;       // what step 0 is called in the dump

  std::int64_t step_number() const { return step + initial_step; }
};

}  // namespace opdump::capture
