// One recording. A session routes what the engine reports to five parts, and keeps the step:
//
//   OperatorTable     which operators there are, and which of them are recorded
//   CallRecorder      what is recorded of a call: tensors, as jobs of the Pipeline
//   StepGraphs        what is drawn into the graph: operators, edges, parameters. Null if nobody wants graphs
//   WiringRecorder    who made what a call reads. Null if there is no log
//   RecordingWriter   what is written: rows and links in order of execution, graphs, the status
//
// How a call travels through them:
//
//   define            OperatorTable: a new operator is selected or not, and logged
//   wants             no lock: two flags
//   begin             WiringRecorder knows who made the inputs, StepGraphs logs them,        '.
//                     CallRecorder makes jobs of them                                        |
//   before_write      CallRecorder: jobs that read the memory are done or copied first       | one Call
//   returned          StepGraphs logs the outputs, if the operator returns before they exist | travels
//   end               WiringRecorder notes the outputs, StepGraphs logs them, CallRecorder   | through all
//                     makes jobs of them                                                     |
//                     and queues the call, whose jobs may still be running                  .'
//   a worker of the Pipeline, or flush(), calls RecordingWriter: calls that are done, in order, become rows
//                     and links
//   set_step          StepGraphs makes a graph of its log; RecordingWriter moves and writes the step's files
//
// Locks. Two are turns, held while other things happen: step_mutex_ here (who ends a step), then the writing
// turn of RecordingWriter (who writes rows). They are acquired in this order. All others guard data of one
// class for a moment and are leaves: no thread holds two of them. They are those of OperatorTable,
// StepGraphs, GraphRecorder, WiringRecorder, CallQueue, ReuseTable, Pipeline, Watcher, and of the status in
// RecordingWriter. The parts call each other downwards only: CallRecorder -> RecordingWriter -> OperatorTable
// <- StepGraphs.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capture/call_recorder.h"
#include "capture/graph/step_graphs.h"
#include "capture/graph/wiring_recorder.h"
#include "capture/operand.h"
#include "capture/operator_table.h"
#include "capture/recording_rules.h"
#include "capture/recording_start.h"
#include "capture/recording_state.h"
#include "capture/recording_writer.h"
#include "capture/session_options.h"
#include "capture/step_room.h"
#include "plan/dump_plan.h"

namespace opdump::capture {

class Session {
 public:
  // Errors: config (something the recorder cannot do), io (the output directory).
  static Result<std::unique_ptr<Session>> open(plan::DumpPlan plan, SessionOptions options);
  ~Session();

  // Waits for everything, writes the status file, logs a summary. Errors: the loss, if there was one.
  Result<> close();

  bool set_step(std::int64_t step);
  bool selects_step(std::int64_t step) const;
  bool keeps_failures() const { return plan_.debug == plan::DebugMode::exception; }
  // The statistics that the engine is to compute where the tensors are.
  std::span<const plan::Statistic> device_statistics() const {
    return rules_.takes_statistics ? std::span<const plan::Statistic>(plan_.statistics)
                                   : std::span<const plan::Statistic>();
  }
  bool has_low_precision() const { return plan_.statistics_precision == plan::Precision::low; }
  void define_graph(std::int64_t graph_id, std::string name, std::string file_name);
  // The values that a model gives, for engines that report no graphs.
  void define_outputs(std::int64_t graph_id, std::span<const std::uint64_t> values);
  const DefinedOperator* define(dump::LoggedOperator op);

  // Whether begin() and end() are to be called, and set_arguments() between them; whether they look at data.
  struct Wants {
    bool call = false, arguments = false, inputs = false, outputs = false;
  };
  Wants wants(const DefinedOperator* op) const {
    if (!state_.recording.load(std::memory_order_relaxed)) return {};
    const bool selected = op->selected.load(std::memory_order_relaxed);
    const bool first = graphs_ && !op->is_in_graph.load(std::memory_order_relaxed);
    return {selected || graphs_ || watches_, first || selected,
            (selected && plan_.sides != plan::Sides::outputs) || graphs_,
            (selected && (plan_.sides != plan::Sides::inputs || plan_.debug == plan::DebugMode::overflow)) ||
                graphs_ || watches_};
  }
  void before_write(std::uint64_t content) { recorder_->before_write(content); }
  void before_any_write() { recorder_->before_any_write(); }
  bool can_wait_for(const Operand& operand) const { return recorder_->can_wait_for(operand); }
  // The session's own copy of the name of an operand: graphs show it when the engine may have let go of its
  // own. Null if there is none, or no graph.
  const char* keep_name(const char* name) { return name && graphs_ ? graphs_->keep_name(name) : nullptr; }
  Call* begin(const DefinedOperator* op, std::span<const Operand> inputs);
  // What a call executes: the function with its overload, the arguments, and state of the engine.
  struct Given {
    std::string function = {};
    std::map<std::string, std::string> state = {};
    std::vector<model::Argument> arguments = {};
  };
  // Whether set_arguments() does anything with arguments of this hash.
  bool needs_arguments(Call& call, std::uint64_t hash) const;
  void set_arguments(Call& call, Given given, std::vector<model::Body> bodies = {});
  // Which parts of tensors the operator's call of this step had; at any time within the step.
  void set_layout(const DefinedOperator& op, dump::CallLayout layout);
  // The operator has returned before its outputs are there; end() follows when they are.
  void returned(Call& call, std::span<const Operand> outputs);
  void end(Call* call, std::span<const Operand> outputs, bool failed);
  // `is_unnamed`: the user flagged something that bears the name, see opdump_flag.
  void set_dump(std::string_view name, bool enabled, bool is_unnamed = false) {
    operators_.set_dump(name, enabled, is_unnamed);
  }
  // See opdump_describe_run().
  void describe_run(std::string_view name, std::string_view value) { writer_.describe_run(name, value); }
  void report_unseen(std::string_view what, std::string_view reason);
  Result<> flush() { return recorder_->flush(); }
  // Flushes, and lets the status say that nothing is missing so far, until the next begin(). Errors: as
  // close().
  Result<> rest();
  // The program wants to be looked at: what happens after this step is not recorded. The first alarm counts.
  // Does nothing unless the recording watches.
  void raise_alarm(std::string_view kind, std::string_view text);
  bool watches_program() const { return plan_.watch_steps > 0; }
  // Right before close().
  using StepEnd = capture::StepEnd;
  void mark_step(StepEnd end) { step_end_ = end; }
  const std::filesystem::path& root() const { return plan_.root; }

  // Lets go of what the parent holds, in a child made by fork(). Also of a recording that rests, for ever.
  void abandon() {
    state_.recording = false;
    state_.stopped = true;
    writer_.abandon();
  }

 private:
  Session(plan::DumpPlan plan, SessionOptions options, RecordingStart start,
          std::optional<dump::GeGraphSettings> ge_graphs);
  void set_place(Call& call) const;
  void note_makers(Call& call, std::span<const Operand> inputs);
  void end_step();
  void end_watched_step();
  void check_room();
  void record_parameter(const Parameter& parameter, std::int64_t graph_id);
  std::int64_t reached_step() const;
  std::vector<std::string> describe_unmatched();

  plan::DumpPlan plan_;  // without its rules for operators and models: operators_ has them
  const SessionOptions options_;
  const RecordingRules rules_;
  RecordingState state_;
  bool is_excluded_ = false;        // this device is not to be dumped
  bool watches_ = false;            // some operators' outputs, see Watcher
  bool reuses_ = false;             // equal bytes share statistics and files
  bool graph_directories_ = false;  // graphs are reported; a step's files lie in the directory of its graph

  std::mutex step_mutex_;                   // who changes the step; comes before all others
  StepEnd step_end_ = StepEnd::whole;       // of the step under way
  std::optional<StepRoom> room_;            // nothing: the plan has no budget
  std::atomic<std::int64_t> steps_run_{0};  // for the summary: the last one + 1

  OperatorTable operators_;
  RecordingWriter writer_;
  std::unique_ptr<StepGraphs> graphs_;      // null: the engine reports no graph, or nobody wants it
  std::unique_ptr<WiringRecorder> wiring_;  // null: nothing is logged
  std::unique_ptr<CallRecorder> recorder_;  // last: its threads use the rest
};

}  // namespace opdump::capture
