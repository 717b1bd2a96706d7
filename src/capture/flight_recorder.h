// Recordings that watch the program (opdump watch): when to stop. Looks at each execution as soon as its
// statistics are there, by the rule of model/not_finite_search.h:
//
//   an operator makes a NaN, and reads none, or     an alarm at once. In a backward pass only when the step
//   an infinity that it neither read nor was        ends: a GradScaler sees such gradients, skips the update
//   asked for                                       and lowers its scale. That is no alarm, unless it does so
//                                                   kMostSkipped times in a row
//   a NaN that no operator made                     an alarm once it has reached a gradient or a weight: data
//                                                   may have some that the program masks
//
// The tensors of the first execution that may be the answer are worth keeping.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "capture/call.h"
#include "dump/watch_file.h"

namespace opdump::capture {

// Thread-safe. Its lock is held for nothing else of the session.
class FlightRecorder {
 public:
  // From a scale of 65536, with which GradScalers begin, to 1.
  static constexpr std::uint64_t kMostSkipped = 16;

  struct Seen {
    bool keeps_tensors = false;
    std::optional<dump::Alarm> alarm;
  };
  // An execution has ended; its slots have their statistics.
  Seen look(const Call& call);

  // A step has ended.
  std::optional<dump::Alarm> end_step();

  // The program, or what runs it, raises an alarm. False if there was one before.
  bool raise() { return !has_fired_.exchange(true); }
  // Nothing has to be recorded any more, after the step under way.
  bool has_fired() const { return has_fired_.load(std::memory_order_relaxed); }
  // How often a GradScaler has skipped an update.
  std::uint64_t skipped_count() const;

 private:
  Seen judge(const Call& call);
  std::optional<dump::Alarm> note_skip();
  Seen judge_outer(const Call& call, const dump::Alarm& alarm);

  std::atomic<bool> has_fired_{false};
  std::atomic<const DefinedOperator*> unscaler_{nullptr};  // that has seen gradients that are not finite
  mutable std::mutex mutex_;                               // guards the rest
  // Of the step under way: made in a backward pass, and read by the program.
  std::optional<dump::Alarm> made_, outer_;
  bool has_kept_ = false;
  std::uint64_t skipped_ = 0, skipped_in_a_row_ = 0;
};

// Reads nothing but what is known: of the job, or of the slot.
const math::Statistics& statistics_of(const RecordedSlot& slot);

}  // namespace opdump::capture
