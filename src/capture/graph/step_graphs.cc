#include "capture/graph/step_graphs.h"

#include <algorithm>
#include <utility>

#include "math/layout/strided_copy.h"

namespace opdump::capture {
namespace {

GraphTensor to_graph_tensor(const Operand& operand) {
  GraphTensor tensor{.value = operand.value,
                     .content = operand.content,
                     .where = make_footprint(operand.block, operand.block_offset, operand.view),
                     .is_view = operand.undumped == "view",
                     .name = operand.name,
                     .index = operand.index,
                     .role = operand.role,
                     .type = {operand.view.dtype, operand.view.shape}};
  if (operand.role != model::GraphParameter::Role::constant || !operand.view.data || operand.is_late)
    return tensor;
  if (const std::uint64_t bytes = operand.view.byte_count(); bytes <= tensor.constant.size())
    std::copy_n(operand.view.data, bytes, tensor.constant.begin());
  return tensor;
}

}  // namespace

StepGraphs::StepGraphs(const plan::DumpPlan& plan, Options options, const RecordingRules& rules,
                       const RecordingState& state, const OperatorTable& operators)
    : plan_(plan), options_(std::move(options)), rules_(rules), state_(state), operators_(operators) {
  if (!options_.ge_graphs) return;
  ge_graphs_.emplace(*options_.ge_graphs);
  ge_wants_weights_ = options_.ge_graphs->content == dump::GeGraphSettings::GraphContent::with_weights;
}

void StepGraphs::name_program(std::string name) {
  const std::lock_guard lock(mutex_);
  program_name_ = std::move(name);
}

void StepGraphs::define_outputs(std::int64_t graph_id, std::span<const std::uint64_t> values) {
  const std::lock_guard lock(mutex_);
  model_outputs_[graph_id].assign(values.begin(), values.end());
}

const char* StepGraphs::keep_name(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto known = names_.find(name);
  return (known != names_.end() ? known : names_.emplace(name).first)->c_str();
}

void StepGraphs::begin(Call& call, std::span<const Operand> inputs) {
  call.is_first = !call.op->is_in_graph.load(std::memory_order_relaxed);
  call.inputs.reserve(inputs.size());
  for (const Operand& input : inputs) call.inputs.push_back(to_graph_tensor(input));
  if (keeps_parameters()) keep_parameters(inputs, model::Side::input);
}

void StepGraphs::returned(Call& call, std::span<const Operand> outputs) { log_call(call, outputs); }

void StepGraphs::end(Call& call, std::span<const Operand> outputs) {
  log_call(call, outputs);
  if (keeps_parameters()) keep_parameters(outputs, model::Side::output);
}

void StepGraphs::log_call(Call& call, std::span<const Operand> outputs) {
  if (std::exchange(call.is_noted, true)) return;
  if (!options_.reports_steps && call.op->op.graph_id == model::kAnyGraph) return;  // of no model
  // What the call has of the graph ends here: the next one uses the memory again while it is in the cache.
  std::vector<GraphTensor> from = std::exchange(call.inputs, {}), to;
  to.reserve(outputs.size());
  for (const Operand& output : outputs) to.push_back(to_graph_tensor(output));
  std::optional<NodeDetail> detail;
  if (call.is_first && !call.op->is_in_graph.exchange(true)) detail = std::move(call.detail);
  recorder_.note(*call.op, from, to, std::move(detail));
}

// What enters the graph is saved at the end of the step: weights with what the step made of them. An operator
// that only makes a view of a parameter is the one that has it as it is. Memory that cannot be kept is
// copied, anew with each operator that returns it: then it may have been written to. Late values are a copy.
void StepGraphs::keep_parameters(std::span<const Operand> operands, model::Side side) {
  for (const Operand& given : operands) {
    const bool is_weight = given.role == model::GraphParameter::Role::weight;
    if (!given.name || !given.view.data || !(is_weight || plan_.input_parameters)) continue;
    Operand operand = given;
    operand.undumped = {};
    if (!rules_.reason_not_to_dump(operand).empty()) continue;
    const std::lock_guard lock(mutex_);
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
bool StepGraphs::is_renewed(const Parameter& known, const Operand& operand, model::Side side) {
  const model::TensorView &before = known.operand.view, &now = operand.view;
  if (before.dtype != now.dtype || !(before.shape == now.shape) || !(known.strides == now.strides))
    return false;
  const bool is_copy = !known.copy.empty() || known.operand.is_late;
  return known.operand.block != operand.block || (is_copy && side == model::Side::output);
}

// Returns false if it is not lent, and no one wants a copy or it is too large for one.
bool StepGraphs::keep_parameter(Parameter& parameter, const Operand& operand) const {
  const bool is_lent = options_.lender.lends(operand.owner);
  const bool is_small = operand.view.byte_count() <= dump::GeGraphWriter::kMaxWeightBytes;
  if (!is_lent && !(options_.reports_steps && plan_.parameters) && !(ge_wants_weights_ && is_small))
    return false;
  parameter = {operand.name, operand, operand.view.strides, {}, {}};
  if (is_lent) {
    parameter.keep_alive = options_.lender.borrow(operand.owner);
  } else {
    parameter.copy.resize(operand.view.byte_count());
    math::copy_row_major(operand.view, parameter.copy);
    parameter.operand.view =
        model::TensorView::row_major(operand.view.dtype, operand.view.shape, parameter.copy.data());
  }
  return true;
}

std::vector<Parameter> StepGraphs::release_parameters() {
  std::vector<Parameter> parameters;
  const std::lock_guard lock(mutex_);
  parameters.swap(parameters_);
  seen_parameters_.clear();
  for (Parameter& parameter : parameters)
    if (std::exchange(parameter.operand.is_late, false)) (void)options_.lender.wait(parameter.operand.owner);
  return parameters;
}

std::optional<GraphRecorder::EndedStep> StepGraphs::end_step(std::span<const Parameter> parameters) {
  auto ended = recorder_.end_step();
  if (!ended || state_.stopped) return std::nullopt;
  if (!ended->loss.empty()) options_.report_unseen("the graph of a step", ended->loss);
  if (ge_graphs_ && ended->graph) write_ge_graph(*ended, parameters);
  return ended;
}

void StepGraphs::enter_model(std::int64_t model) {
  if (model == model_ || model == model::kAnyGraph) return;
  end_model();
  model_ = model;
}

// The graph of a model is what an execution executed that did not fail before its end: the longest.
void StepGraphs::end_model() {
  const std::vector<Parameter> parameters = release_parameters();
  const std::int64_t model = std::exchange(model_, model::kAnyGraph);
  auto ended = recorder_.end_step(outputs_of(model));
  if (!ended || !ended->graph || state_.stopped || !ge_graphs_) return;
  std::size_t& written = written_models_[model];
  if (ended->graph->nodes.size() < written || (ended->is_new && ended->graph->nodes.size() == written))
    return;
  written = ended->graph->nodes.size();
  ended->graph->id = model;
  write_ge_graph(*ended, parameters);
}

std::vector<std::uint64_t> StepGraphs::outputs_of(std::int64_t model) {
  const std::lock_guard lock(mutex_);
  return model_outputs_[model];
}

// The directory {model_name} of the graph's dump.
std::string StepGraphs::directory_of(std::int64_t graph_id) {
  if (plan_.scheme != plan::SchemeKind::acl_tree && !plan_.net_name.empty()) return plan_.net_name;
  std::string name = operators_.model_directory(options_.reports_steps ? model::kAnyGraph : graph_id);
  if (!name.empty()) return name;
  const std::lock_guard lock(mutex_);
  return program_name_.empty() ? plan_.net_name : program_name_;
}

// These files are beside the recording: if they cannot be written, it goes on without them.
void StepGraphs::write_ge_graph(const GraphRecorder::EndedStep& ended,
                                std::span<const Parameter> parameters) {
  std::vector<dump::GeWeight> weights;
  for (const Parameter& parameter : parameters) weights.push_back({parameter.name, parameter.operand.view});
  for (const GraphRecorder::Constant& constant : ended.constants) {
    const auto view =
        model::TensorView::row_major(constant.type.dtype, constant.type.shape, constant.data.data());
    if (view.byte_count() <= constant.data.size()) weights.push_back({constant.name, view});
  }
  const auto left_out = ge_graphs_->write(*ended.graph, directory_of(ended.graph->id), weights);
  if (!left_out) {
    options_.report_unseen("graphs for DUMP_GE_GRAPH", left_out.error().message());
    ge_graphs_.reset();
  } else if (!left_out->empty()) {
    options_.report_unseen("weights in graphs for DUMP_GE_GRAPH", "above 256 MiB, from " + left_out->front());
  }
}

}  // namespace opdump::capture
