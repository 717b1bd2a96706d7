// One recording: decides what is wanted, takes tensors, hands them to the pipeline, writes rows in order of
// execution.
//
//   define -> wants -> begin -> before_write -> the operator runs -> end
//                        |                                       |
//                     inputs: jobs                            outputs: jobs
//                        '------------------ Call ---------------'
//                                              | in order, when its jobs are done
//                                              v
//                                 links, rows of statistic.csv
//
// Where it is known only at the end whether the inputs matter -- overflow and exception dump, and files that
// hold a whole call -- their jobs are held until then.
//
// After a failure (disk full, directory gone) the session switches itself off, says so once, and lists the
// loss.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "capture/graph_recorder.h"
#include "capture/job.h"
#include "capture/pipeline.h"
#include "capture/reuse_table.h"
#include "capture/watcher.h"
#include "dump/operator_log.h"
#include "dump/status_file.h"
#include "dump/write/ge_graph_files.h"
#include "dump/write/recording_place.h"
#include "dump/write/scheme_writer.h"
#include "model/operator.h"
#include "plan/dump_plan.h"

namespace opdump::capture {

struct SessionOptions {
  std::uint32_t rank = 0;
  std::uint32_t device_id = 0;
  std::string runtime;
  std::string process;  // of several that record into one rank; empty for the main one
  std::uint64_t memory_limit_bytes = 1 << 30;
  unsigned threads = 0;  // 0: as many as the work suits, at most 4
  LogSink log;
  dump::FileSink write_file;  // null: files go to the disk
  bool tells_graph = false;   // see opdump_options
  dump::Existing existing = dump::Existing::refuse;
  bool tells_of_addition = false;         // says so if the recording is added to a dump
  void (*retain)(void* owner) = nullptr;  // null: nothing is borrowed
  void (*release)(void* owner) = nullptr;
};

// A tensor of a call, as the engine reports it. See opdump_tensor in opdump.h.
struct Operand {
  model::TensorView view;
  std::uint32_t index = 0;
  std::uint64_t content = 0;
  void* owner = nullptr;
  std::string_view undumped;
  std::uint64_t value = 0;
  const char* name = nullptr;  // lives as long as the session: see Session::keep_name
  model::GraphParameter::Role role = model::GraphParameter::Role::input;
  std::string_view format;      // of its dimensions, as model::format_name spells it; empty if not told
  model::Shape original_shape;  // see dump::SlotAddress
  std::uint64_t block = 0;      // and where in it: see opdump_tensor; 0: unknown
  std::int64_t block_offset = 0;
};

// An operator as the session knows it. What is mutable belongs to the session.
struct DefinedOperator {
  dump::LoggedOperator op;
  std::atomic<bool> selected{false};
  plan::ModelSelector::Choice choice;
  mutable std::atomic<bool> is_in_graph{false};   // its detail is known
  mutable std::atomic<std::uint64_t> last_us{0};  // when it was last recorded
  mutable std::atomic<bool> is_written{false};    // something of it is in the dump
  // Slots noted as without data: of the first 32 of each side a bit, of all others the number.
  mutable std::atomic<std::uint64_t> undumped_bits{0};
  mutable std::unordered_set<std::uint32_t> undumped;  // guarded by the session's operators_mutex_
};

struct Call;
struct RecordedSlot;

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
  void define_graph(std::int64_t graph_id, std::string name, std::string file_name);
  // The values that a model gives, for engines that tell no graphs.
  void define_outputs(std::int64_t graph_id, std::span<const std::uint64_t> values);
  const DefinedOperator* define(dump::LoggedOperator op);

  // Whether begin() and end() are to be called, and set_arguments() between them; whether they look at data.
  struct Wants {
    bool call = false, arguments = false, inputs = false, outputs = false;
  };
  Wants wants(const DefinedOperator* op) const {
    if (!recording_.load(std::memory_order_relaxed)) return {};
    const bool selected = op->selected.load(std::memory_order_relaxed);
    const bool first = recorder() && !op->is_in_graph.load(std::memory_order_relaxed);
    return {selected || recorder() || watcher_,
            first || (selected && (plan_.operator_arguments || plan_.debug == plan::DebugMode::overflow)),
            (selected && plan_.sides != plan::Sides::outputs) || recorder(),
            (selected && (plan_.sides != plan::Sides::inputs || plan_.debug == plan::DebugMode::overflow)) ||
                recorder() || watcher_};
  }
  void before_write(std::uint64_t content) {
    if (watcher_) watcher_->note_write(content);
    pipeline_->before_write(content);
  }
  void before_any_write() { pipeline_->before_any_write(); }
  // The session's own copy of the name of an operand: graphs show it when the engine may have let go of its
  // own. Null if there is none, or no graph.
  const char* keep_name(const char* name);
  Call* begin(const DefinedOperator* op, std::span<const Operand> inputs);
  void set_arguments(Call& call, std::vector<model::Argument> arguments,
                     std::vector<model::Body> bodies = {});
  // The operator has returned before its outputs are there; end() follows when they are.
  void returned(Call& call, std::span<const Operand> outputs);
  void end(Call* call, std::span<const Operand> outputs, bool failed);
  // `is_unnamed`: the user flagged something that bears the name, see opdump_flag.
  void set_dump(std::string_view name, bool enabled, bool is_unnamed = false);
  void report_unseen(std::string_view what, std::string_view reason);
  Result<> flush();
  // Flushes, and lets the status say that nothing is missing so far, until the next begin(). Errors: as
  // close().
  Result<> rest();
  // Right before close().
  enum class StepEnd : std::uint8_t { whole, tail, cut };
  void mark_step(StepEnd end) { step_end_ = end; }
  const std::filesystem::path& root() const { return plan_.root; }

  // In a child made by fork(): lets go of what the parent holds.
  void abandon() { place_.abandon(); }

 private:
  // What is made on the disk before there is a session.
  struct Beginnings {
    dump::RecordingStatus status;
    dump::RecordingPlace place;
    std::unique_ptr<dump::SchemeWriter> scheme;
    dump::OperatorLogWriter log_writer;
  };
  Session(plan::DumpPlan plan, SessionOptions options, Beginnings beginnings);
  static Result<Beginnings> begin_recording(const plan::DumpPlan& plan, const SessionOptions& options);
  bool keeps_files() const { return !options_.write_file; }
  struct OperatorKey {
    std::int64_t graph_id;
    std::string_view name;  // of the operator that is the value
    bool operator==(const OperatorKey&) const = default;
  };
  struct OperatorHash {
    std::size_t operator()(const OperatorKey& key) const;
  };
  static Result<std::unique_ptr<dump::SchemeWriter>> open_scheme(const plan::DumpPlan& plan,
                                                                 const SessionOptions& options,
                                                                 const std::string& time_directory);
  Result<> write_first_files();
  bool is_flagged(const model::Operator& op) const;
  std::vector<std::string> list_operators();

  // session_take.cc
  struct GiveBack {
    Session* session;
    void operator()(Call* call) const { session->give_back(call); }
  };
  using CallPointer = std::unique_ptr<Call, GiveBack>;
  CallPointer fresh_call();
  void give_back(Call* call);
  void note_place(Call& call);
  void take_side(Call& call, model::Side side, std::span<const Operand> operands);
  void take_without_excluded(Call& call, model::Side side, std::span<const Operand> operands,
                             std::uint64_t timestamp_us);
  void take(Call& call, model::Side side, const Operand& operand, std::uint64_t timestamp_us);
  void take_sample(RecordedSlot& slot, const Operand& operand, const model::TensorView& view);
  std::string_view reason_not_to_dump(const Operand& operand) const;
  void note_undumped(const Call& call, model::Side side, const Operand& operand, std::string_view reason);
  void find_or_look(const Operand& operand, const model::TensorView& view, RecordedSlot& slot);
  void look(const Operand& operand, const model::TensorView& view, RecordedSlot& slot);
  std::shared_ptr<Job> make_job(const Operand& operand, const model::TensorView& view,
                                const dump::SlotAddress& address);
  std::shared_ptr<Job> hold_job(const Operand& operand, const model::TensorView& view,
                                const dump::SlotAddress& address);
  std::optional<std::uint32_t> find_overflow(std::span<const Operand> outputs);
  bool overflows(const Operand& operand);
  bool keeps_held(Call& call, std::span<const Operand> outputs, bool failed);
  void drop_held(Call& call);
  void submit_held(Call& call);
  void finish(CallPointer call, std::span<const Operand> outputs, bool failed);
  void queue(CallPointer call);
  void submit_container(Call& call);

  // session_watch.cc
  void watch(const Call& call, std::span<const Operand> outputs);
  Result<> write_again(std::span<const dump::SchemeWriter::Member> members);
  void note_overwrite(const std::string& sentence, std::int64_t step);

  // session_graph.cc
  void note_graph(Call& call, std::span<const Operand> outputs);
  void take_parameter(const char* name, const Operand& operand, std::int64_t graph_id);
  void end_step();
  struct Parameter {
    const char* name;
    Operand operand;
    model::Shape strides;  // of the program's tensor
    KeepAlive keep_alive;
    std::vector<std::byte> copy;  // of what is not lent
  };
  bool keeps_parameters() const { return (graph_ && plan_.parameters) || graph_wants_weights_; }
  void note_parameters(std::span<const Operand> operands, model::Side side);
  static bool is_renewed(const Parameter& known, const Operand& operand, model::Side side);
  bool keep_parameter(Parameter& parameter, const Operand& operand);
  GraphRecorder* recorder() const { return graph_ ? graph_.get() : model_graphs_.get(); }
  std::vector<Parameter> take_parameters();
  void open_ge_graphs();
  void enter_model(std::int64_t model);
  void end_model();
  void write_ge_graph(const GraphRecorder::EndedStep& ended, std::span<const Parameter> parameters);
  Result<> write_graph(const GraphRecorder::EndedStep& ended, std::int64_t step);
  bool wants_constant(const std::string& name);
  Result<> write_constants(const GraphRecorder::EndedStep& ended);

  // session_write.cc
  void drain();
  void write_ready(bool flush_now);
  Result<> write(const RecordedSlot& slot);
  void write(const Call& call);
  Result<> write_beside(const Call& call);
  Result<> write_overflow(const Call& call);
  void stop(const Error& error, std::string first, std::uint64_t count);
  void say(LogLevel level, std::string_view line) const;
  void say_what_was_missed(const dump::RecordingStatus& status);
  void say_missed_flags(std::span<const std::string_view> names) const;
  void note_step(std::int64_t step);
  void note_step_end();
  void count_into_status();
  void wake();
  dump::RecordingStatus final_status();

  plan::DumpPlan plan_;
  SessionOptions options_;
  JobNeeds needs_;
  std::uint64_t inline_bytes_ = 0;  // a tensor of so many bytes is dealt with on the spot, leaving no job
  bool order_matters_ = false;      // of elements: to files and hashes, not to statistics
  bool is_excluded_ = false;        // this device is not to be dumped
  bool holds_ = false;              // what becomes of a call's data is known only when it ends
  bool tells_models_ = false;       // graphs are told, and a step's files lie in the directory of its graph
  std::filesystem::path rank_directory_;
  dump::RecordingPlace place_;
  std::unique_ptr<dump::SchemeWriter> scheme_;

  std::atomic<bool> recording_{false};  // the current step is selected and nothing has failed
  std::atomic<bool> stopped_{false};
  std::atomic<std::int64_t> step_{0};
  std::mutex step_mutex_;              // who changes the step; comes before all others
  StepEnd step_end_ = StepEnd::whole;  // of the step under way
  std::atomic<bool> resting_{false};

  std::mutex operators_mutex_;  // guards the next seven and plan_.models
  plan::OpSelector selector_;
  std::unordered_map<OperatorKey, std::unique_ptr<DefinedOperator>, OperatorHash> operators_;
  dump::OperatorLogWriter log_writer_;
  bool log_dirty_ = false;
  struct Flag {
    bool enabled = false, is_unnamed = false;
  };
  std::map<std::string, Flag, std::less<>> flags_;  // set_dump(): by operator or scope
  std::map<std::int64_t, std::vector<std::uint64_t>> model_outputs_;
  std::string program_name_;  // of an engine that tells graphs; in graph files where no directory bears one

  std::unique_ptr<GraphRecorder> graph_;          // null: the engine tells no graph, or nobody wants it
  std::optional<dump::GeGraphWriter> ge_graphs_;  // by one thread at a time; nothing: nobody wants them
  bool graph_wants_weights_ = false;
  // Of engines that execute models, if ge_graphs_ wants the graphs of these. An execution is a step.
  std::unique_ptr<GraphRecorder> model_graphs_;
  std::int64_t model_ = model::kAnyGraph;                         // that is under way
  std::map<std::int64_t, std::size_t> written_models_;            // with the number of their operators
  std::mutex parameters_mutex_;                                   // guards the next three
  std::set<std::string, std::less<>> names_;                      // of operands
  std::unordered_map<const char*, std::size_t> seen_parameters_;  // places in parameters_
  std::vector<Parameter> parameters_;                             // of the step under way, written at its end
  std::atomic<std::int64_t> steps_run_{0};                        // for the summary: the last one + 1

  std::unique_ptr<Watcher> watcher_;   // null: nothing is watched
  std::unique_ptr<ReuseTable> reuse_;  // null: nothing can be shared
  ReuseTable overflows_{false};        // the extremes of what was looked at for overflow

  std::mutex calls_mutex_;                         // guards the next two
  std::deque<CallPointer> calls_;                  // ended, in order, rows not yet written
  std::vector<std::unique_ptr<Call>> free_calls_;  // kept for their memory
  std::mutex drain_mutex_;  // guards the rows of scheme_ and last_flush_us_: one thread writes rows at a time
  std::uint64_t last_flush_us_ = 0;

  std::mutex status_mutex_;  // guards the next four
  dump::RecordingStatus status_;
  std::int64_t step_before_last_ = -1;       // that was recorded, as status_.last_step
  std::optional<Error> failure_;             // why recording stopped
  std::optional<std::size_t> failure_loss_;  // its place in status_.losses
  std::atomic<std::uint64_t> overflow_count_{0};
  std::atomic<std::uint64_t> call_count_{0}, tensor_count_{0}, tensor_bytes_{0}, row_count_{0};

  std::unique_ptr<Pipeline> pipeline_;  // last: its threads use the rest
};

}  // namespace opdump::capture
