// What is recorded of a call: which of its tensors, by a job of the pipeline, by known statistics of equal
// bytes, or at once. Where it is known only at the end whether the inputs matter -- overflow and exception
// dump, and files that hold a whole call -- their jobs are held until then.
//
// Has no lock of its own: the threads of the program meet in the ReuseTable, the Pipeline and the Watcher,
// each of which has one and holds it for nothing else of the session.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "capture/call.h"
#include "capture/call_queue.h"
#include "capture/flight_recorder.h"
#include "capture/jobs/pipeline.h"
#include "capture/jobs/reuse_table.h"
#include "capture/operand.h"
#include "capture/operator_table.h"
#include "capture/overflow_check.h"
#include "capture/read_check.h"
#include "capture/recording_rules.h"
#include "capture/recording_state.h"
#include "capture/recording_writer.h"
#include "capture/watcher.h"
#include "plan/dump_plan.h"

namespace opdump::capture {

// Thread-safe.
class CallRecorder {
 public:
  struct Options {
    Lender lender;
    unsigned threads = 1;
    std::uint64_t memory_limit_bytes = 1 << 30;
    bool reuses = false;           // equal bytes share statistics and files
    bool waits_for_files = false;  // their receiver gets them in the order of execution
    bool checks_reads = false;     // that equal content numbers are equal bytes; nothing is lent then
  };
  CallRecorder(const plan::DumpPlan& plan, Options options, const RecordingRules& rules,
               const RecordingState& state, OperatorTable& operators, RecordingWriter& writer);

  void before_write(std::uint64_t content) {
    if (watcher_) watcher_->note_write(content);
    pipeline_.before_write(content);
  }
  void before_any_write() { pipeline_.before_any_write(); }

  // The call has its operator, step and graph.
  void begin(Call& call, std::span<const Operand> inputs);
  void set_arguments(Call& call, std::vector<model::Argument> arguments);
  // Queues the call for the writer, if it has anything to write.
  void end(CallPointer call, std::span<const Operand> outputs, bool failed);
  // A call of its own that has the one output, read now.
  void record_parameter(const DefinedOperator& op, const Operand& data, std::int64_t graph_id);

  // Returns once all jobs are done.
  void wait() { pipeline_.wait_all(); }
  // Returns once all jobs are done and what they did is written.
  Result<> flush();

  // Says whether as many operators have overflowed as the plan wants, or there was an alarm.
  bool has_enough() const {
    return (plan_.overflow_limit != 0 && overflow_count_ >= plan_.overflow_limit) ||
           (flight_ && flight_->has_fired());
  }
  FlightRecorder* flight() { return flight_.get(); }  // null: the recording does not watch
  void forget_watched() {
    if (watcher_) watcher_->forget();
  }
  void begin_step();

  bool can_wait_for(const Operand& operand) const {
    return options_.lender.wait && options_.lender.lends(operand.owner);
  }

 private:
  void await(std::span<const Operand> operands) const;
  void record_side(Call& call, model::Side side, std::span<const Operand> operands);
  void record_without_excluded(Call& call, model::Side side, std::span<const Operand> operands,
                               std::uint64_t timestamp_us);
  void record(Call& call, model::Side side, const Operand& operand, std::uint64_t timestamp_us);
  std::uint64_t check_read(const Operand& operand, const RecordedSlot& slot);
  bool may_lend(const Operand& operand) const;
  void record_given(const Operand& operand, RecordedSlot& slot);
  void record_sample(RecordedSlot& slot, const Operand& operand, const model::TensorView& view);
  void reuse_or_examine(const Operand& operand, const model::TensorView& view, RecordedSlot& slot);
  void examine(const Operand& operand, const model::TensorView& view, RecordedSlot& slot);
  std::shared_ptr<Job> make_job(const Operand& operand, const model::TensorView& view,
                                const dump::SlotAddress& address);
  std::shared_ptr<Job> hold_job(const Operand& operand, const model::TensorView& view,
                                const dump::SlotAddress& address);
  bool keeps_held(Call& call, std::span<const Operand> outputs, bool failed);
  void drop_held(Call& call);
  void submit_held(Call& call);
  void submit_container(Call& call);
  void finish(CallPointer call, std::span<const Operand> outputs, bool failed);
  void queue(CallPointer call);
  void watch(const Call& call, std::span<const Operand> outputs);
  void keep_inputs(Call& call, std::span<const Operand> inputs) const;
  void look_for_alarm(Call& call, std::span<const Operand> outputs);
  void write_tensors(const Call& call, std::span<const Operand> outputs);
  void write_tensor(const Call& call, model::Side side, const Operand& operand);

  const plan::DumpPlan& plan_;
  const Options options_;
  const RecordingRules& rules_;
  const RecordingState& state_;
  OperatorTable& operators_;
  RecordingWriter& writer_;
  std::unique_ptr<Watcher> watcher_;  // null: nothing is watched
  std::unique_ptr<FlightRecorder> flight_;
  const bool reads_at_once_;               // what it is given, some of it
  std::unique_ptr<ReuseTable> reuse_;      // null: nothing can be shared
  std::unique_ptr<ReadCheck> read_check_;  // null: reads are not checked
  std::atomic<std::uint64_t> changed_count_{0}, overflow_count_{0};
  Pipeline pipeline_;  // last but for its user: its threads use the rest
  OverflowCheck overflow_{rules_, state_, pipeline_};
};

}  // namespace opdump::capture
