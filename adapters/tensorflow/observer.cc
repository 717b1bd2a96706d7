#include "observer.h"

#include <dlfcn.h>

#include <tensorflow/core/framework/function.h>
#include <tensorflow/core/framework/resource_mgr.h>
#include <tensorflow/core/framework/resource_var.h>
#include "attributes.h"
#include "blocks.h"
#include "layouts.h"
#include "opdump/run_environment.h"
#include "operands.h"

namespace opdump::tensorflow_adapter {
namespace {

namespace tf = tensorflow;

thread_local int sections = 0;  // that this thread is in
thread_local int runs = 0;      // of them functions and sessions, whose kernels have nodes

// Threads of TensorFlow have no state of Python.
bool is_python_thread() {
  using Function = void* (*)();
  static const auto state =
      reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  return state && state() != nullptr;
}

bool is_compiled_by_xla(const tf::OpKernel& kernel) {
  return kernel.def().attr().contains("_XlaMustCompile") ||
         absl::StartsWith(kernel.type_string_view(), "Xla") ||
         absl::StartsWith(kernel.type_string_view(), "_XlaRun");
}

bool is_variable(tf::OpKernelContext& context, int input) {
  return context.has_input(input) && context.input_dtype(input) == tf::DT_RESOURCE;
}

// Adds the value of the variable that the input refers to.
void add_variable(tf::OpKernelContext& context, int input, std::size_t index, std::uint32_t format,
                  bool is_written, Operands& to) {
  tf::core::RefCountPtr<tf::Var> variable;
  if (!tf::LookupResource(&context, tf::HandleFromInput(&context, input), &variable).ok()) return;
  const tf::tf_shared_lock lock(*variable->mu());
  if (is_written)
    to.add_written(*variable->tensor(), index, format);
  else
    to.add(*variable->tensor(), index, format);
}

// Whether `output` is a part of an input's memory, as of a split along the first axis: only outputs as large
// as the input can have been written there.
bool is_part_of_input(const tf::Tensor& output, tf::OpKernelContext& context) {
  const void* const base = base_of(output);
  for (int i = 0; base && i < context.num_inputs(); ++i) {
    if (!context.has_input(i) || context.input_is_ref(i)) continue;
    const tf::Tensor& input = context.input(i);
    if (base_of(input) == base && input.TotalBytes() != output.TotalBytes()) return true;
  }
  return false;
}

// Whether `output` was there before: an element of a list, kept for the gradient. It has its maker.
bool is_kept(const tf::Tensor& output, tf::OpKernelContext& context) {
  const void* const base = base_of(output);
  if (!base || !blocks().is_known(base)) return false;
  bool reads_list = false;
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i) || context.input_is_ref(i)) continue;
    if (base_of(context.input(i)) == base) return false;
    reads_list |= context.input_dtype(i) == tf::DT_VARIANT;
  }
  return reads_list;
}

// An operator on references returns the first one. It writes to the others, too, as ApplyAdam to the moments:
// these are outputs, as those of an operator on resources are.
void add_references(tf::OpKernelContext& context, const Layouts& layouts, std::size_t index,
                    Operands& outputs) {
  for (int i = 1; i < context.num_inputs(); ++i)
    if (context.has_input(i) && context.input_is_ref(i))
      outputs.add_written(context.mutable_input(i, /*lock_held=*/false), index++, layouts.input(i));
}

// "weight/Momentum/Assign" gives the variable "weight/Momentum" its first value: nothing has been trained.
bool is_initialiser(const tf::OpKernel& kernel) {
  const auto& inputs = kernel.def().input();
  return !inputs.empty() && kernel.name() == std::string(inputs[0]) + "/Assign";
}

const char* name_of_variable(tf::OpKernel& kernel, tf::OpKernelContext& context) {
  const std::string& name = tf::HandleFromInput(&context, 0).name();
  if (!absl::StrContains(name, "_AnonymousVar")) return intern(name);
  std::string node(kernel.name_view());
  const std::size_t end = node.rfind("/ReadVariableOp");
  return intern(end == std::string::npos ? name : node.substr(0, end));
}

}  // namespace

std::atomic<void (*)()> describe{nullptr};

Description& current_description() {
  thread_local Description description;
  return description;
}

Observer::Observer(opdump_session* session)
    : session_(session), dumps_views_(opdump::makes_golden_data()), names_(session) {
  begin_step(0);
}

void Observer::begin_step(std::int64_t step) {
  step_ = step;
  names_.begin_step();
  units_.clear();
  is_trained_ = has_run_ = false;
  is_active_ = opdump_set_step(session_, step) != 0;
  blocks().set_active(is_active_);
}

void Observer::step() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_explicit_ = true;
  begin_step(step_ + 1);
}

void Observer::note_optimizer() { has_optimizer_ = true; }

void Observer::add_runtime(const void* config) {
  const std::lock_guard<std::mutex> lock(mutex_);
  runtimes_.insert(config);
}

void push_section(Section section) {
  ++sections;
  if (section != Section::optimizer) ++runs;
}

void pop_section(Section section) {
  --sections;
  if (section != Section::optimizer) --runs;
}

void Observer::enter(const char* unit, Section section) {
  if (section == Section::session) ++sessions_;
  if (section != Section::optimizer) begin_unit(unit);
}

void Observer::begin_unit(const char* unit) {
  if (sections > 0) return;
  blocks().begin_call();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!units_.insert(unit).second && !has_optimizer_ && !is_explicit_) {
    begin_step(step_ + 1);
    units_.insert(unit);
  }
}

void Observer::leave(Section section) {
  if (section == Section::session) --sessions_;
  if (sections > 0 || is_explicit_) return;
  if (section == Section::optimizer || is_trained_) {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_optimizer_ = true;
    begin_step(step_ + 1);
  }
}

opdump_step_end Observer::open_step() const {
  return step_ > 0 && (has_optimizer_ || is_explicit_) ? OPDUMP_STEP_TAIL : OPDUMP_STEP_WHOLE;
}

// Data sets prepare elements whenever there is time, in a runtime of their own: their operators belong to no
// step.
bool Observer::sees(const tf::OpKernelContext& context, bool is_eager) {
  tf::FunctionLibraryRuntime* const library = context.function_library();
  const void* const config = library ? library->config_proto() : nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (runtimes_.count(config) > 0) return true;
  // Steps of sessions count from 0; all others are below it.
  const bool is_session = sessions_ > 0 && !is_eager && context.step_id() >= 0;
  if (is_session) runtimes_.insert(config);
  return is_session;
}

Execution Observer::begin(tf::OpKernel& kernel, tf::OpKernelContext& context) {
  Execution execution;
  const std::string type =
      known_type(std::string_view(kernel.type_string_view().data(), kernel.type_string_view().size()));
  execution.kind = kind_of(type);
  const bool is_xla = execution.kind == Kind::calling && is_compiled_by_xla(kernel);
  if (execution.kind == Kind::plumbing || (execution.kind == Kind::calling && !is_xla)) return execution;
  const bool is_eager = runs == 0 && is_python_thread();
  const std::string_view node(kernel.name_view().data(), kernel.name_view().size());
  if (execution.kind == Kind::updating && !is_trained_ && !is_eager && sees(context, false) &&
      names_.phase_of(type, node) == OPDUMP_OPTIMIZER && !is_initialiser(kernel))
    is_trained_ = true;
  if (!is_active_) return execution;

  const bool is_recorded = execution.kind == Kind::computing || execution.kind == Kind::view ||
                           execution.kind == Kind::updating || is_xla;
  std::string eager_name;
  Description* description = nullptr;
  if (is_eager && is_recorded) {
    const auto ask = describe.load();
    description = &current_description();
    *description = {};
    if (ask) ask();
    eager_name = description->scope + type;
  }
  if (!sees(context, is_eager)) return execution;
  execution.is_seen = true;
  if (!is_recorded) return execution;
  has_run_ = true;
  if (is_xla || is_compiled_by_xla(kernel))
    opdump_report_unseen(session_, ("the inside of " + std::string(node)).c_str(),
                         "XLA compiled it to one operator; jit_compile=False records each");

  const opdump_op* const op = names_.next(
      type, is_eager ? std::string_view(eager_name) : node, is_eager, context.frame_iter().iter_id,
      description && !description->source.file.empty() ? &description->source : nullptr);
  const int wants = opdump_wants(session_, op);
  if (wants == 0) return execution;
  Operands inputs;
  const Layouts layouts(type, kernel.def(), names_.phase_of(type, node));
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) continue;
    if (is_variable(context, i)) {
      if (execution.kind == Kind::updating) add_variable(context, i, i, layouts.input(i), false, inputs);
    } else if (context.input_is_ref(i)) {
      inputs.add(context.mutable_input(i, /*lock_held=*/false), i, layouts.input(i));
    } else {
      inputs.add(context.input(i), i, layouts.input(i),
                 execution.kind == Kind::view && !opdump_keeps_failures(session_) ? "view" : nullptr);
    }
  }
  execution.call = opdump_begin(session_, op, inputs.data(), inputs.size());
  if (execution.call && (wants & OPDUMP_WANTS_ARGUMENTS)) {
    const Attributes attributes(kernel.def());
    opdump_set_arguments(session_, execution.call, attributes.data(), attributes.size());
  }
  return execution;
}

// Gives values from outside of the graph their names.
void Observer::note_value(Kind kind, tf::OpKernel& kernel, tf::OpKernelContext& context) {
  const tf::Tensor* const output = context.num_outputs() > 0 ? context.mutable_output(0) : nullptr;
  if (!output || !output->IsInitialized()) return;
  const void* const base = base_of(*output);
  if (!base) return;
  if (kind == Kind::reading && is_variable(context, 0))
    blocks().name(base, name_of_variable(kernel, context), OPDUMP_WEIGHT);
  else if (kind == Kind::constant)
    blocks().name(base, intern(std::string(kernel.name_view())), OPDUMP_CONSTANT);
  else if (kind == Kind::argument)
    blocks().name(base, intern(std::string(kernel.name_view())), OPDUMP_INPUT);
}

void Observer::end(const Execution& execution, tf::OpKernel& kernel, tf::OpKernelContext& context) {
  const bool failed = !context.status().ok();
  if (!execution.call) {
    if (execution.is_seen && !failed) note_value(execution.kind, kernel, context);
    return;
  }
  Operands outputs;
  const std::string type = known_type(kernel.type_string());
  const Layouts layouts(type, kernel.def(), names_.phase_of(type, kernel.name()));
  std::size_t index = 0;
  for (int i = 0; i < context.num_outputs() && !failed; ++i, ++index)
    if (const tf::Tensor* const output = context.mutable_output(i)) {
      if (execution.kind == Kind::view)
        outputs.add(*output, index, layouts.output(index), dumps_views_ ? nullptr : "view");
      else if (is_part_of_input(*output, context) || is_kept(*output, context))
        outputs.add(*output, index, layouts.output(index));
      else
        outputs.add_written(*output, index, layouts.output(index));
    }
  if (execution.kind == Kind::updating && !failed)
    for (int i = 0; i < context.num_inputs(); ++i)
      if (is_variable(context, i)) add_variable(context, i, index++, layouts.input(i), true, outputs);
  if (!failed) add_references(context, layouts, index, outputs);
  opdump_end(session_, execution.call, outputs.data(), outputs.size(), failed);
}

}  // namespace opdump::tensorflow_adapter
