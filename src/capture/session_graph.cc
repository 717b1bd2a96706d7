// The graph half of a session: what steps executed, what entered from outside, and where a step's files go.
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "capture/call.h"
#include "capture/clock.h"
#include "capture/session.h"
#include "dump/write/graph_files.h"
#include "math/layout/strided_copy.h"

namespace opdump::capture {

const char* Session::keep_name(const char* name) {
  if (name == nullptr || recorder() == nullptr) return nullptr;
  const std::lock_guard lock(parameters_mutex_);
  const auto known = names_.find(std::string_view(name));
  return (known != names_.end() ? known : names_.emplace(name).first)->c_str();
}

void Session::note_graph(Call& call, std::span<const Operand> outputs) {
  if (std::exchange(call.is_noted, true)) return;
  if (!graph_ && call.op->op.graph_id == model::kAnyGraph) return;  // an operator of no model
  for (const Operand& output : outputs) call.outputs.push_back(to_graph_tensor(output));
  std::optional<NodeDetail> detail;
  if (call.is_first && !call.op->is_in_graph.exchange(true)) detail = std::move(call.detail);
  recorder()->note(*call.op, call.inputs, call.outputs, std::move(detail));
}

// What enters the graph is saved at the end of the step: weights with what the step made of them. An operator
// that only makes a view of a parameter is the one that has it as it is. Memory that cannot be kept is
// copied, anew with each operator that returns it: then it may have been written to.
void Session::note_parameters(std::span<const Operand> operands, model::Side side) {
  for (const Operand& given : operands) {
    const bool is_weight = given.role == model::GraphParameter::Role::weight;
    if (!given.name || !given.view.data || !(is_weight || plan_.input_parameters)) continue;
    Operand operand = given;
    operand.undumped = {};
    if (!reason_not_to_dump(operand).empty()) continue;
    const std::lock_guard lock(parameters_mutex_);
    const auto known = seen_parameters_.find(operand.name);
    if (known != seen_parameters_.end()) {
      Parameter& parameter = parameters_[known->second];
      if (is_renewed(parameter, operand, side)) (void)keep_parameter(parameter, operand);
    } else if (Parameter parameter; side == model::Side::input && keep_parameter(parameter, operand)) {
      seen_parameters_.emplace(operand.name, parameters_.size());
      parameters_.push_back(std::move(parameter));
    }
  }
}

// Whether a parameter has other memory than before, or may have another value in memory that was copied.
bool Session::is_renewed(const Parameter& known, const Operand& operand, model::Side side) {
  const model::TensorView &before = known.operand.view, &now = operand.view;
  if (before.dtype != now.dtype || !(before.shape == now.shape) || !(known.strides == now.strides))
    return false;
  return known.operand.block != operand.block || (!known.copy.empty() && side == model::Side::output);
}

// False if it is too large for a copy.
bool Session::keep_parameter(Parameter& parameter, const Operand& operand) {
  const bool is_lent = operand.owner && options_.retain;
  const bool is_small = operand.view.byte_count() <= dump::GeGraphWriter::kMaxWeightBytes;
  if (!is_lent && !(graph_ && plan_.parameters) && !(graph_wants_weights_ && is_small)) return false;
  parameter = {operand.name, operand, operand.view.strides, {}, {}};
  if (is_lent) {
    options_.retain(operand.owner);
    parameter.keep_alive = KeepAlive(operand.owner, options_.release);
  } else {
    parameter.copy.resize(operand.view.byte_count());
    math::copy_row_major(operand.view, parameter.copy);
    parameter.operand.view =
        model::TensorView::row_major(operand.view.dtype, operand.view.shape, parameter.copy.data());
  }
  return true;
}

void Session::take_parameter(const char* name, const Operand& operand, std::int64_t graph_id) {
  const DefinedOperator* op = define(model::Operator{.type = "Parameter", .name = name, .source_file = {}});
  if (stopped_ || !op || !op->selected) return;
  Operand data = operand;
  data.index = 0;
  data.content = 0;  // it is read now, before the program goes on
  CallPointer call = fresh_call();
  call->op = op;
  call->step = step_ + static_cast<std::int64_t>(plan_.initial_step);
  call->graph_id = graph_id;
  take_side(*call, model::Side::output, {&data, 1});
  queue(std::move(call));
}

std::vector<Session::Parameter> Session::take_parameters() {
  std::vector<Parameter> parameters;
  const std::lock_guard lock(parameters_mutex_);
  parameters.swap(parameters_);
  seen_parameters_.clear();
  return parameters;
}

void Session::end_step() {
  const std::vector<Parameter> parameters = take_parameters();
  const std::int64_t expected = graph_->expected_graph();
  if (plan_.parameters)
    for (const Parameter& parameter : parameters) take_parameter(parameter.name, parameter.operand, expected);
  const auto ended = graph_->end_step();
  if (!ended || stopped_) return;
  if (!ended->loss.empty()) report_unseen("the graph of a step", ended->loss);
  if (ge_graphs_ && ended->graph) write_ge_graph(*ended, parameters);
  const std::int64_t step = step_ + static_cast<std::int64_t>(plan_.initial_step);
  const bool moves = tells_models_ && ended->graph_id != expected;
  if (moves) pipeline_->wait_all();
  const std::lock_guard lock(drain_mutex_);
  Result<> result = ok();
  if (moves) {
    write_ready(true);
    result = scheme_->move_step(step, expected, ended->graph_id);
  }
  if (result) result = write_graph(*ended, step);
  if (!result) stop(result.error(), "step " + std::to_string(step), 0);
}

void Session::open_ge_graphs() {
  const auto environment = [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  dump::GeGraphSettings settings = dump::read_ge_graph_settings(environment, ::getpid(), options_.device_id);
  status_.warnings.insert(status_.warnings.end(), settings.warnings.begin(), settings.warnings.end());
  graph_wants_weights_ = settings.content == dump::GeGraphSettings::GraphContent::with_weights;
  if (settings.content == dump::GeGraphSettings::GraphContent::none) return;
  ge_graphs_.emplace(std::move(settings));
  if (!graph_) model_graphs_ = std::make_unique<GraphRecorder>();
}

void Session::enter_model(std::int64_t model) {
  if (model == model_ || model == model::kAnyGraph) return;
  end_model();
  model_ = model;
}

void Session::define_outputs(std::int64_t graph_id, std::span<const std::uint64_t> values) {
  const std::lock_guard lock(operators_mutex_);
  model_outputs_[graph_id].assign(values.begin(), values.end());
}

// The graph of a model is what an execution executed that did not fail before its end: the longest.
void Session::end_model() {
  const std::vector<Parameter> parameters = take_parameters();
  const std::int64_t model = std::exchange(model_, model::kAnyGraph);
  std::vector<std::uint64_t> outputs;
  {
    const std::lock_guard lock(operators_mutex_);
    outputs = model_outputs_[model];
  }
  auto ended = model_graphs_->end_step(outputs);
  if (!ended || !ended->graph || stopped_ || !ge_graphs_) return;
  std::size_t& written = written_models_[model];
  if (ended->graph->nodes.size() < written || (ended->is_new && ended->graph->nodes.size() == written))
    return;
  written = ended->graph->nodes.size();
  ended->graph->id = model;
  write_ge_graph(*ended, parameters);
}

// These files are beside the recording: if they cannot be written, it goes on without them.
void Session::write_ge_graph(const GraphRecorder::EndedStep& ended, std::span<const Parameter> parameters) {
  std::vector<dump::GeWeight> weights;
  for (const Parameter& parameter : parameters) weights.push_back({parameter.name, parameter.operand.view});
  for (const GraphRecorder::Constant& constant : ended.constants) {
    const auto view =
        model::TensorView::row_major(constant.type.dtype, constant.type.shape, constant.data.data());
    if (view.byte_count() <= constant.data.size()) weights.push_back({constant.name, view});
  }
  std::string name = plan_.net_name;
  if (plan_.scheme == plan::SchemeKind::acl_tree || name.empty()) {
    const std::lock_guard lock(operators_mutex_);
    name = plan_.models.directory_name(graph_ ? model::kAnyGraph : ended.graph->id);
    if (name.empty()) name = program_name_.empty() ? plan_.net_name : program_name_;
  }
  const auto left_out = ge_graphs_->write(*ended.graph, name, weights);
  if (!left_out) {
    report_unseen("graphs for DUMP_GE_GRAPH", left_out.error().message());
    ge_graphs_.reset();
  } else if (!left_out->empty()) {
    report_unseen("weights in graphs for DUMP_GE_GRAPH", "above 256 MiB, from " + left_out->front());
  }
}

Result<> Session::write_graph(const GraphRecorder::EndedStep& ended, std::int64_t step) {
  if (ended.graph && plan_.graphs) OPDUMP_CHECK_OK(dump::write_graph(rank_directory_, *ended.graph));
  if (plan_.run_metadata) OPDUMP_CHECK_OK(dump::append_global_order(rank_directory_, ended.graph_id, step));
  return plan_.parameters && ended.is_new ? write_constants(ended) : ok();
}

// Constants are chosen as operators are, by a name of their own (mindspore.md 1.6).
bool Session::wants_constant(const std::string& name) {
  const std::lock_guard lock(operators_mutex_);
  return !plan_.only_flagged_operators && selector_.wants("Default/" + name);
}

Result<> Session::write_constants(const GraphRecorder::EndedStep& ended) {
  for (const GraphRecorder::Constant& constant : ended.constants) {
    if (!wants_constant(constant.name)) continue;
    const model::Operator op{.type = "Parameter", .name = constant.name, .source_file = {}};
    const dump::SlotAddress address{.op = &op,
                                    .graph_id = ended.graph_id,
                                    .step = dump::kConstantsStep,
                                    .timestamp_us = now_us(),
                                    .side = model::Side::output};
    const auto view =
        model::TensorView::row_major(constant.type.dtype, constant.type.shape, constant.data.data());
    if (view.byte_count() > constant.data.size()) continue;
    if (auto written = scheme_->write_tensor(address, view); !written) return written.take_error();
  }
  return ok();
}

}  // namespace opdump::capture
