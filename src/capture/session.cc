#include "capture/session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "capture/clock.h"
#include "capture/run_identity.h"

namespace opdump::capture {
namespace {

// Threads that write files mostly wait for the disk; threads that compute occupy cores of the program.
unsigned choose_threads(const plan::DumpPlan& plan, const SessionOptions& options) {
  if (options.threads != 0) return options.threads;
  const unsigned cores = std::thread::hardware_concurrency();
  return std::clamp(plan.content == plan::Content::statistics ? cores / 2 : cores, 1u, 4u);
}

// What the environment asks for beside the plan; adds the warnings about it.
std::optional<dump::GeGraphSettings> read_ge_graphs(const SessionOptions& options,
                                                    std::vector<std::string>& warnings) {
  if (!options.keeps_files() || !options.process.empty()) return std::nullopt;
  const auto environment = [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  dump::GeGraphSettings settings = dump::read_ge_graph_settings(environment, ::getpid(), options.device_id);
  warnings.insert(warnings.end(), settings.warnings.begin(), settings.warnings.end());
  if (settings.content == dump::GeGraphSettings::GraphContent::none) return std::nullopt;
  return settings;
}

bool excludes_device(const plan::DumpPlan& plan, std::uint32_t device) {
  return !plan.devices.empty() && std::ranges::find(plan.devices, device) == plan.devices.end();
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(plan::DumpPlan plan, SessionOptions options) {
  OPDUMP_TRY(RecordingStart start, start_recording(plan, options));
  options.threads = choose_threads(plan, options);
  std::vector<std::string>& warnings = start.status.warnings;
  auto ge_graphs = read_ge_graphs(options, warnings);
  if (plan.statistics_processor == plan::Processor::device && !options.wait)
    warnings.push_back("stat_calc_mode is \"device\": statistics are computed on the host all the same");
  if (excludes_device(plan, options.device_id))
    warnings.push_back("device " + std::to_string(options.device_id) +
                       " is not in support_device: nothing is dumped here");
  std::unique_ptr<Session> session(
      new Session(std::move(plan), std::move(options), std::move(start), std::move(ge_graphs)));
  OPDUMP_CHECK_OK(session->writer_.begin());
  session->set_step(0);
  return session;
}

Session::Session(plan::DumpPlan plan, SessionOptions options, RecordingStart start,
                 std::optional<dump::GeGraphSettings> ge_graphs)
    : plan_(std::move(plan)),
      options_(std::move(options)),
      rules_(plan_, *start.scheme),
      is_excluded_(excludes_device(plan_, options_.device_id)),
      watches_(plan_.models.watches()),
      reuses_(options_.keeps_files() && (!rules_.needs.file || start.links_work)),
      graph_directories_(options_.reports_graph &&
                         (plan_.scheme != plan::SchemeKind::acl_tree || plan_.models.selects_models())),
      room_(start.budget ? std::optional<StepRoom>(std::in_place, start.budget, plan_.steps) : std::nullopt),
      operators_({.operators = std::move(plan_.operators),
                  .models = std::move(plan_.models),
                  .only_flagged = plan_.only_flagged_operators},
                 std::move(start.log), state_),
      writer_(plan_, options_, rules_, state_, operators_, std::move(start)) {
  state_.initial_step = static_cast<std::int64_t>(plan_.initial_step);
  // A loader's worker counts steps of its own, and would remove those of the program.
  is_excluded_ |= plan_.watch_steps > 0 && !options_.process.empty();
  state_.stopped = is_excluded_;
  const auto report = [this](std::string_view what, std::string_view reason) { report_unseen(what, reason); };
  if (options_.reports_graph || ge_graphs)
    graphs_ = std::make_unique<StepGraphs>(plan_,
                                           StepGraphs::Options{.reports_steps = options_.reports_graph,
                                                               .ge_graphs = std::move(ge_graphs),
                                                               .lender = options_.lender(),
                                                               .report_unseen = report},
                                           rules_, state_, operators_);
  if (options_.keeps_files()) wiring_ = std::make_unique<WiringRecorder>();
  if (graph_directories_) define_graph(model::kAnyGraph, plan_.net_name, "");
  recorder_ =
      std::make_unique<CallRecorder>(plan_,
                                     CallRecorder::Options{.lender = options_.lender(),
                                                           .threads = options_.threads,
                                                           .memory_limit_bytes = options_.memory_limit_bytes,
                                                           .reuses = reuses_,
                                                           .waits_for_files = !options_.keeps_files(),
                                                           .checks_reads = options_.checks_reads},
                                     rules_, state_, operators_, writer_);
}

Session::~Session() {
  recorder_.reset();
  if (options_.keeps_files()) end_run(writer_.run_id());
}

bool Session::selects_step(std::int64_t step) const {
  return !state_.stopped && !recorder_->has_enough() && step >= 0 &&
         plan_.steps.contains(plan_.initial_step + static_cast<std::uint64_t>(step));
}

bool Session::set_step(std::int64_t step) {
  const std::lock_guard ending(step_mutex_);  // several threads may end a step: it ends once
  recorder_->forget_watched();
  if (options_.reports_graph && step != state_.step) end_step();
  if (graphs_ && !options_.reports_graph) graphs_->end_model();
  if (room_ && state_.recording && step != state_.step) check_room();
  const bool selected = selects_step(step);
  state_.recording = selected;
  if (state_.stopped) state_.recording = false;  // by another thread, just now
  if (state_.step.exchange(step) != step) recorder_->begin_step();
  if (step >= steps_run_) steps_run_ = step + 1;
  if (!state_.stopped) {
    const bool lists = plan_.scheme == plan::SchemeKind::model_tree;
    writer_.begin_step(state_.step_number(), selected,
                       lists ? operators_.list_requested() : std::vector<std::string>());
  }
  if (!selected) recorder_->before_any_write();  // the engine may unhook itself now and not see writes
  return selected;
}

void Session::end_step() {
  const std::vector<Parameter> parameters = graphs_->release_parameters();
  const std::int64_t expected = graphs_->expected_graph();
  if (plan_.parameters)
    for (const Parameter& parameter : parameters) record_parameter(parameter, expected);
  end_watched_step();
  const auto ended = graphs_->end_step(parameters);
  if (!ended) return;
  const bool moves = graph_directories_ && ended->graph_id != expected;
  if (moves) recorder_->wait();
  writer_.end_step(*ended, expected, moves);
  if (FlightRecorder* const flight = recorder_->flight()) {
    (void)flush();  // a failure has been logged
    writer_.keep_last_steps(state_.step_number(), ended->graph_id, flight->skipped_count());
  }
}

void Session::end_watched_step() {
  if (FlightRecorder* const flight = recorder_->flight())
    if (auto alarm = flight->end_step()) writer_.raise(std::move(*alarm));
}

void Session::raise_alarm(std::string_view kind, std::string_view text) {
  FlightRecorder* const flight = recorder_->flight();
  if (!flight || !flight->raise()) return;
  writer_.raise({.kind = std::string(kind),
                 .step = state_.step_number(),
                 .operator_name = {},
                 .slot = {},
                 .text = std::string(text),
                 .time_us = now_us()});
}

// A step that was recorded has ended. What was recorded is written before recording stops: nothing of it is
// lost.
void Session::check_room() {
  if (room_->needs_everything(options_.memory_limit_bytes)) (void)flush();  // a failure has been logged
  const auto outlook = room_->end_step(static_cast<std::uint64_t>(state_.step_number()));
  if (!outlook.line.empty() && options_.process.empty()) writer_.log(LogLevel::info, outlook.line);
  if (!outlook.refusal) return;
  const bool all = plan_.steps.is_all();
  writer_.stop(*outlook.refusal, "step " + std::to_string(state_.step_number() + 1),
               all ? 1 : outlook.remaining, "steps after recording stopped");
}

void Session::record_parameter(const Parameter& parameter, std::int64_t graph_id) {
  const DefinedOperator* op =
      define(model::Operator{.type = "Parameter", .name = parameter.name, .source_file = {}});
  if (!state_.stopped && op->selected) recorder_->record_parameter(*op, parameter.operand, graph_id);
}

void Session::define_graph(std::int64_t graph_id, std::string name, std::string file_name) {
  if (options_.reports_graph) {
    graph_id = model::kAnyGraph;
    graphs_->name_program(name.empty() ? file_name : name);
    if (!graph_directories_) return;
  }
  const std::string directory = operators_.define_model(graph_id, {std::move(name), std::move(file_name)});
  writer_.scheme().name_graph(graph_id, directory);
}

void Session::define_outputs(std::int64_t graph_id, std::span<const std::uint64_t> values) {
  if (graphs_) graphs_->define_outputs(graph_id, values);
}

const DefinedOperator* Session::define(dump::LoggedOperator op) {
  if (options_.reports_graph) op.graph_id = model::kAnyGraph;
  return operators_.define(std::move(op));
}

Call* Session::begin(const DefinedOperator* op, std::span<const Operand> inputs) {
  if (!wants(op).call) return nullptr;
  writer_.wake();
  if (graphs_ && !graphs_->reports_steps()) graphs_->enter_model(op->op.graph_id);
  CallPointer call = writer_.calls().make();
  call->op = op;
  set_place(*call);
  if (wiring_) note_makers(*call, inputs);
  if (graphs_) graphs_->begin(*call, inputs);
  recorder_->begin(*call, inputs);
  return call.release();
}

void Session::note_makers(Call& call, std::span<const Operand> inputs) {
  call.wiring.op = call.op;
  call.wiring.step = call.step;
  if (auto wiring = wiring_->begin(call.wiring, inputs))
    operators_.log_wiring(*call.op, call.step, std::move(*wiring));
}

// The step and the graph that its files go to until it ends, both of one moment: another thread may end it.
void Session::set_place(Call& call) const {
  std::int64_t step = state_.step;
  do {
    call.step = step;
    call.graph_id = graph_directories_ ? graphs_->expected_graph() : call.op->op.graph_id;
    step = state_.step;
  } while (step != call.step);
  call.step += state_.initial_step;
}

// The log has the arguments of a call if they are not those of the operator's last one.
bool Session::needs_arguments(Call& call, std::uint64_t hash) const {
  const bool selected = call.op->selected.load(std::memory_order_relaxed);
  call.has_new_arguments =
      selected && call.op->last_arguments.exchange(hash, std::memory_order_relaxed) != hash;
  return call.has_new_arguments || call.is_first ||
         (selected && (plan_.operator_arguments || plan_.debug == plan::DebugMode::overflow));
}

void Session::set_arguments(Call& call, Given given, std::vector<model::Body> bodies) {
  if (call.has_new_arguments)
    operators_.log_call(*call.op, call.step,
                        {.function = std::move(given.function),
                         .arguments = dump::encode_call_arguments(given.arguments),
                         .state = dump::encode_call_state(given.state)});
  if (call.is_first) call.detail = {given.arguments, std::move(bodies)};
  recorder_->set_arguments(call, std::move(given.arguments));
}

void Session::set_layout(const DefinedOperator& op, dump::CallLayout layout) {
  if (!op.selected.load(std::memory_order_relaxed)) return;
  const dump::LoggedLayout same{.operator_name = {}, .layout = layout};
  const std::uint64_t hash = std::hash<std::string>()(dump::format_log_line(same));
  if (op.last_layout.exchange(hash, std::memory_order_relaxed) != hash)
    operators_.log_layout(op, state_.step_number(), std::move(layout));
}

void Session::returned(Call& call, std::span<const Operand> outputs) {
  call.wiring.has_returned = true;
  if (graphs_) graphs_->returned(call, outputs);
}

void Session::end(Call* raw, std::span<const Operand> outputs, bool failed) {
  CallPointer call = writer_.calls().adopt(raw);
  if (!call) return;
  if (wiring_ && !failed) wiring_->end(call->wiring, outputs);
  if (graphs_ && !failed) graphs_->end(*call, outputs);
  recorder_->end(std::move(call), outputs, failed);
}

void Session::report_unseen(std::string_view what, std::string_view reason) {
  if (!is_excluded_) writer_.report_unseen(what, reason);
}

Result<> Session::rest() {
  if (writer_.is_resting() || !options_.keeps_files()) return ok();
  OPDUMP_CHECK_OK(flush());
  return writer_.rest();
}

Result<> Session::close() {
  if (options_.reports_graph) end_step();
  if (graphs_ && !options_.reports_graph) graphs_->end_model();
  auto flushed = flush();
  state_.recording = false;
  if (auto closed = writer_.close(step_end_, reached_step(), describe_unmatched()); !closed) return closed;
  return flushed;
}

// The last step of the program; what ran after it is none.
std::int64_t Session::reached_step() const {
  return std::max<std::int64_t>(steps_run_, 1) + state_.initial_step - 1 -
         (step_end_ == StepEnd::tail ? 1 : 0);
}

// A plan that found less than its author expected.
std::vector<std::string> Session::describe_unmatched() {
  // A worker runs a part of the program: what it lacks, others may have.
  if (is_excluded_ || writer_.has_failed() || !options_.process.empty()) return {};
  const std::int64_t reached = std::max<std::int64_t>(steps_run_, 1) + state_.initial_step - 1;
  if (!plan_.steps.is_all() && writer_.call_count() == 0 && operators_.is_empty()) {
    return {std::string(plan_.steps.contains(reached) ? "no operator ran" : "no step was selected") +
            ": the plan wants " + plan_.steps.format() + ", the program reached step " +
            std::to_string(reached)};
  }
  if (operators_.lacks_flags()) return {"no operator was flagged: dump_mode 2 records what set_dump() names"};
  std::vector<std::string> sentences = operators_.describe_unmatched();
  const std::int64_t ended = reached_step();
  const plan::StepSet missing = plan_.steps.after(static_cast<std::uint64_t>(ended));
  if (!missing.is_none())
    sentences.push_back(missing.describe() + " did not come: the program ended after step " +
                        std::to_string(ended));
  return sentences;
}

}  // namespace opdump::capture
