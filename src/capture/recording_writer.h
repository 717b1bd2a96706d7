// What is written: calls that are done, in order of execution -- their rows and links --, what a step has of
// its own, and the status file with the story of what was lost.
//
// One thread at a time has the writing turn (turn_) and keeps it while it writes; inside of it the locks of
// the queue, the status and the operator table are held one at a time, for moments. Threads of the program
// never wait for the turn to record a call.
//
// After a failure (disk full, directory gone) the writer switches the recording off, says so once, and lists
// the loss.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "capture/call.h"
#include "capture/call_queue.h"
#include "capture/graph/graph_recorder.h"
#include "capture/operator_table.h"
#include "capture/recording_rules.h"
#include "capture/recording_start.h"
#include "capture/recording_state.h"
#include "capture/session_options.h"
#include "dump/watch_file.h"
#include "plan/dump_plan.h"

namespace opdump::capture {

// How the step under way is when the recording ends.
enum class StepEnd : std::uint8_t { whole, tail, cut };

// Thread-safe.
class RecordingWriter {
 public:
  RecordingWriter(const plan::DumpPlan& plan, const SessionOptions& options, const RecordingRules& rules,
                  RecordingState& state, OperatorTable& operators, RecordingStart start);

  CallQueue& calls() { return calls_; }
  // Writes the files of tensors; jobs use it without a lock.
  dump::SchemeWriter& scheme() { return *scheme_; }
  const std::filesystem::path& rank_directory() const { return rank_directory_; }

  // The status as it is, and what lies beside it. Logs the warnings in it. Errors: io.
  Result<> begin();

  // Writes the calls that are done, in order. drain() is for workers: it leaves at once if another thread
  // writes, and never throws.
  void write_done_calls(bool flush_now = false);
  void drain();
  // Writes the calls that are done and hands all to the system. Errors: why recording stopped.
  Result<> flush();

  void begin_step(std::int64_t step, bool selected, std::span<const std::string> operators);
  // A step was an execution of the graph `ended`; if `moves`, its files lie in the directory of the graph
  // `expected` and all its jobs are done.
  void end_step(const GraphRecorder::EndedStep& ended, std::int64_t expected, bool moves);
  // What is in memory now, before the program goes on. False, with recording stopped, if it cannot be
  // written.
  bool write_now(std::span<const dump::SchemeWriter::Member> members, std::string where);

  // Why a recording that watches ends; on the disk at once.
  void raise(dump::Alarm alarm);
  // The step `ended`, of which everything is written, was one of the graph. Removes steps that the plan does
  // not keep.
  void keep_last_steps(std::int64_t ended, std::int64_t graph_id, std::uint64_t skipped_count);

  void count_tensor(std::uint64_t bytes) {
    tensor_count_.fetch_add(1, std::memory_order_relaxed);
    tensor_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void count_call() { call_count_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t call_count() const { return call_count_; }
  void log(LogLevel level, std::string_view line) const;
  void warn(const std::string& line);  // in the log and the status
  void describe_run(std::string_view name, std::string_view value);
  void report_unseen(std::string_view what, std::string_view reason);
  // Ends the recording; `count` tensors, or what `lost` says, are lost so far, `first` is the first of them.
  void stop(const Error& error, std::string first, std::uint64_t count,
            std::string_view lost = "tensors after recording stopped");
  bool has_failed();

  // Lets the status say that nothing is missing so far, until wake(). After a flush.
  Result<> rest();
  bool is_resting() const { return resting_; }
  void wake() {
    if (resting_.load(std::memory_order_relaxed)) write_awake_status();
  }
  // After a flush: the final status, and a summary in the log with the sentences `unmatched` in it. Errors:
  // io.
  Result<> close(StepEnd end, std::int64_t reached_step, std::span<const std::string> unmatched);
  const std::string& run_id() const { return run_id_; }

  // Lets go of what the parent holds, in a child made by fork().
  void abandon() { folder_.abandon(); }

 private:
  bool write_rows(bool flush_now);
  void flush_log();
  void write(const Call& call);
  Result<> write(const RecordedSlot& slot);
  void note_not_computed(const RecordedSlot& slot);
  Result<> write_beside(const Call& call);
  Result<> write_members(std::span<const dump::SchemeWriter::Member> members);
  Result<> write_graph(const GraphRecorder::EndedStep& ended, std::int64_t step);
  Result<> write_constants(const GraphRecorder::EndedStep& ended);
  void note_step(std::int64_t step);
  void note_step_end(StepEnd end);
  void count_into_status();
  void write_watched();
  void write_awake_status();
  dump::RecordingStatus final_status(StepEnd end, std::int64_t reached_step);

  const plan::DumpPlan& plan_;
  const SessionOptions& options_;
  const RecordingRules& rules_;
  RecordingState& state_;
  OperatorTable& operators_;
  const std::filesystem::path rank_directory_;
  const std::string run_id_;
  dump::RecordingFolder folder_;
  const std::unique_ptr<dump::SchemeWriter> scheme_;
  CallQueue calls_;

  std::mutex turn_;  // guards the rows of scheme_ and the next ones
  std::deque<std::pair<std::int64_t, std::int64_t>> kept_steps_;  // and their graphs, where it watches
  std::uint64_t last_flush_us_ = 0;
  bool has_noted_not_computed_ = false;

  std::atomic<bool> resting_{false};
  std::atomic<std::uint64_t> call_count_{0}, tensor_count_{0}, tensor_bytes_{0}, row_count_{0};

  std::mutex status_mutex_;  // guards the rest and the status file; held for nothing else of the session
  dump::RecordingStatus status_;
  std::int64_t step_before_last_ = -1;       // that was recorded, as status_.last_step
  std::optional<Error> failure_;             // why recording stopped
  std::optional<std::size_t> failure_loss_;  // its index in status_.losses
  dump::Watched watched_;
};

}  // namespace opdump::capture
