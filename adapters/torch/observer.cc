#include "observer.h"

#include <ATen/SequenceNumber.h>
#include <torch/csrc/autograd/graph_task.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "arguments.h"
#include "opdump/run_environment.h"
#include "program_lines.h"
#include "sharded/sharded_call.h"
#include "switches.h"

namespace opdump::torch_adapter {
namespace {

// More than any program has; one that makes code as it runs must not fill memory.
constexpr std::size_t kMaxPlaces = 1 << 16;

// Where the operator ran that made the autograd node with this (thread, sequence number). A ring: nodes that
// wait for their backward pass longer than 2^16 later ones are forgotten and count as gradients of the root.
class ForwardLocations {
 public:
  struct Location {
    std::uint64_t thread = 0, sequence_number = 0;
    Scope* scope = nullptr;
    Source source;
  };
  void add(const Location& location) {
    const std::lock_guard lock(mutex_);
    ring_[slot(location.thread, location.sequence_number)] = location;
  }
  Location find(std::uint64_t thread, std::uint64_t sequence_number) {
    const std::lock_guard lock(mutex_);
    const Location& location = ring_[slot(thread, sequence_number)];
    return location.thread == thread && location.sequence_number == sequence_number ? location : Location{};
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    ring_.assign(kSize, {});
  }

 private:
  static constexpr std::size_t kSize = 1 << 16;
  static std::size_t slot(std::uint64_t thread, std::uint64_t sequence_number) {
    return (sequence_number + thread * 7919) % kSize;
  }
  std::mutex mutex_;  // guards ring_
  std::vector<Location> ring_ = std::vector<Location>(kSize);
};

ForwardLocations& forward_locations() {
  static auto* locations = new ForwardLocations;  // never destroyed: threads may outlive static objects
  return *locations;
}

// "Optimizer.step#SGD.step" -> "optimizer-SGD"; nothing for other records.
std::string optimizer_component(std::string_view record_name) {
  const std::size_t hash = record_name.find('#');
  const std::size_t dot = record_name.rfind('.');
  if (!record_name.starts_with("Optimizer.") || hash == std::string_view::npos || dot <= hash) return {};
  return "optimizer-" + std::string(record_name.substr(hash + 1, dot - hash - 1));
}

c10::SmallVector<c10::IValue, 2> written_of(const OperatorKind& kind, c10::ArrayRef<c10::IValue> arguments) {
  c10::SmallVector<c10::IValue, 2> written;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (kind.arguments[i].written) written.push_back(arguments[i]);
  return written;
}

// What an operator makes and does not return: the arguments it writes to (torch._foreach_add_), or those of
// them that are outputs beside what it returns (the running statistics of a batch norm).
c10::SmallVector<c10::IValue, 2> find_changed(const OperatorKind& kind,
                                              c10::ArrayRef<c10::IValue> arguments) {
  if (kind.return_count <= (kind.collective ? 1 : 0)) return written_of(kind, arguments);
  c10::SmallVector<c10::IValue, 2> written;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (kind.arguments[i].is_extra_output) written.push_back(arguments[i]);
  return written;
}

// As the caches that engines for language models allocate at once: gibibytes of zeros.
bool is_huge(const c10::IValue& value) {
  constexpr std::size_t kHuge = std::size_t{256} << 20;
  if (!value.isTensor() || !value.toTensor().defined()) return false;
  const at::Tensor& tensor = value.toTensor();
  return tensor.layout() == at::kStrided && !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
         tensor.nbytes() >= kHuge;
}

}  // namespace

bool Rounds::note_operator(std::uint64_t place, bool is_called) {
  const std::lock_guard lock(mutex_);
  const bool begins = is_called && preparations_.contains(place);
  if (begins) {
    if (followers_.size() < kMaxPlaces) followers_.insert(since_call_.begin(), since_call_.end());
    since_call_.clear();
  }
  if (since_call_.size() < kMaxPlaces) since_call_.insert(place);
  return begins;
}

void Rounds::note_call(std::uint64_t place) {
  const std::lock_guard lock(mutex_);
  if (calls_.size() < kMaxPlaces && calls_.insert(place).second && preparations_.size() < kMaxPlaces)
    for (const std::uint64_t other : since_call_)
      if (!followers_.contains(other)) preparations_.insert(other);
  since_call_.clear();
}

Observer::Observer(opdump_session* session, std::string root, std::int64_t first_step, std::int64_t graph_id,
                   bool only_executions)
    : session_(session),
      only_executions_(only_executions),
      keeps_failures_(opdump_keeps_failures(session) != 0),
      dumps_views_(opdump::makes_golden_data()),
      names_(session, std::move(root), graph_id),
      collectives_(session, contents_),
      step_(first_step) {
  forward_locations().clear();
  if (only_executions) clock_ = Clock::explicit_calls;
  begin_step(first_step);
}

Observer::~Observer() {
  active_ = false;
  hook_thread(false);
}

void Observer::begin_step(std::int64_t step) {
  const bool was_active = active_;
  collectives_.give_up("not finished when the step ended");
  step_ = step;
  const bool active = opdump_set_step(session_, step) != 0;
  names_.begin_step();
  backward_seen_ = model_called_ = trains_ = false;
  if (active && !was_active) contents_.clear();  // writes were not observed
  active_ = active;
  hook_thread(is_watching());
  hook_backward(is_watching());
  hook_shards(active);
}

void Observer::count_by(Clock clock) {
  if (clock <= clock_.load()) return;
  clock_ = clock;
  if (is_watching()) return;
  hook_thread(false);
  hook_backward(false);
}

void Observer::tick(Clock clock) {
  if (only_executions_) return;
  count_by(clock);
  if (clock_ != clock) return;
  ++ended_steps_;
  begin_step(step_ + 1);
}

void Observer::enter_execution() {
  ThreadState& thread = this_thread();
  if (thread.executions++ > 0 || !only_executions_) return;
  if (has_executed_.exchange(true)) begin_step(step_ + 1);
  thread.sequence_number =
      at::sequence_number::peek();  // autograd's nodes since the last one are not its own
}

void Observer::leave_execution() {
  ThreadState& thread = this_thread();
  if (thread.executions > 0) --thread.executions;
}

bool Observer::sees_thread() const { return !only_executions_ || this_thread().executions > 0; }

void Observer::join_thread() {
  this_thread();
  hook_thread(is_watching());
}

opdump_step_end Observer::open_step() const {
  if (ended_steps_ == 0 || only_executions_) return OPDUMP_STEP_WHOLE;
  if (clock_ == Clock::model_calls) return model_called_ ? OPDUMP_STEP_WHOLE : OPDUMP_STEP_TAIL;
  if (clock_ == Clock::backward_passes) return backward_seen_ ? OPDUMP_STEP_WHOLE : OPDUMP_STEP_TAIL;
  return OPDUMP_STEP_TAIL;
}

// Before the first Optimizer.step of a recording nobody knows how many calls of the model it takes: several
// batches whose gradients add up, or the two halves of a GAN.
bool Observer::waits_for_optimizer() const {
  const opdump_torch_bridge* bridge = current_bridge();
  return (trains_ || backward_seen_) && bridge && bridge->steps_optimizer && bridge->steps_optimizer() != 0;
}

void Observer::enter_call(const ModuleCall& call) {
  ThreadState& thread = this_thread();
  // Inside of Optimizer.step (a closure) or of a backward pass (checkpoints) a model is called again.
  if (clock_ > Clock::model_calls || !thread.stack.empty() || thread.backward_calls > 0) return;
  if (!call.counts) return note_pass({names_.root(), {}, false});  // before it runs anything
  count_by(Clock::model_calls);
  caller_ = &thread;
  if (model_called_ && call.repeats && !waits_for_optimizer()) tick(Clock::model_calls);
  if (!model_called_) rounds_.note_call(find_place());
  thread.is_in_model = model_called_ = true;
  if (call.trains) trains_ = true;
}

void Observer::leave_call() { this_thread().is_in_model = false; }

void Observer::enter_optimizer(std::string_view record_name) {
  const std::string component = optimizer_component(record_name);
  if (component.empty()) return;
  Scope* scope = names_.child(names_.root(), component, OPDUMP_OPTIMIZER);
  ThreadState& thread = this_thread();
  if (thread.stack.empty()) thread.outer_place = find_place();
  thread.stack.push_back({scope, {}, false});
}

void Observer::leave_optimizer(std::string_view record_name) {
  if (optimizer_component(record_name).empty()) return;
  if (!this_thread().stack.empty()) this_thread().stack.pop_back();
  if (record_name.starts_with("Optimizer.step#")) tick(Clock::optimizers);
}

void Observer::enter_backward(const at::RecordFunction& node) {
  ThreadState& thread = this_thread();
  if (!backward_seen_.exchange(true) && clock_ == Clock::backward_passes) rounds_.note_call(0);
  ForwardLocations::Location location;
  if (node.seqNr() >= 0)
    location = forward_locations().find(node.forwardThreadId(), static_cast<std::uint64_t>(node.seqNr()));
  Scope* scope = location.scope ? names_.gradients_of(location.scope)
                 : std::strstr(node.name(), "AccumulateGrad")
                     ? names_.child(names_.gradients_of(names_.root()), "AccumulateGrad", OPDUMP_BACKWARD)
                     : names_.gradients_of(names_.root());
  thread.stack.push_back({scope, location.source, true});
}

void Observer::leave_backward() {
  ThreadState& thread = this_thread();
  if (thread.stack.empty()) return;
  thread.last_backward = thread.stack.back().scope;
  thread.last_backward_source = thread.stack.back().source;
  thread.stack.pop_back();
}

Observer::Location Observer::locate() {
  ThreadState& thread = this_thread();
  if (!thread.stack.empty() && thread.stack.back().backward)
    return {thread.stack.back().scope, thread.stack.back().source, true};
  if (thread.backward_calls > 0 || !torch::autograd::get_current_graph_task_keep_graph()) {
    Scope* scope = thread.last_backward ? thread.last_backward : names_.gradients_of(names_.root());
    return {scope, thread.last_backward_source, true};
  }
  thread.last_backward = nullptr;
  thread.last_backward_source = {};
  if (thread.stack.empty()) return {names_.root(), {}, false};
  return {thread.stack.back().scope, thread.stack.back().source, false};
}

// Walks the frames of the program, which takes longer than everything else here: only for new operators.
Source Observer::find_source(const Location& location) const {
  if (location.source.file) return location.source;
  Source source = find_program_line(!location.is_backward);
  const auto& scopes = this_thread().stack;
  source.in_model = location.is_backward ? location.source.in_model
                                         : !scopes.empty() && scopes.back().scope == names_.root();
  return source;
}

// What has a name in one step need not be what had it in the last one: an operator in no module, one of a
// module that branches, or a module that the program calls from several places, as both halves of a GAN do.
std::uint64_t Observer::place_of(const Location& location) const {
  if (location.source.file)
    return (reinterpret_cast<std::uintptr_t>(location.source.file) ^
            static_cast<std::uint64_t>(location.source.line)) *
           0x9E3779B97F4A7C15u;
  if (location.is_backward) return 0;
  if (location.scope == names_.root()) return find_place();
  const ThreadState& thread = this_thread();
  if (thread.stack.empty() || thread.stack.front().backward) return 0;
  return thread.outer_place ^ find_instruction();
}

NamedOperator Observer::next_operator(const Location& location, const char* type) {
  return names_.next_operator(location.scope, type, place_of(location),
                              [&] { return find_source(location); });
}

// In a program whose steps are only known by its calls and passes an operator may begin the next one.
void Observer::note_pass(const Location& location) {
  const Clock clock = clock_;
  if (clock > Clock::model_calls || location.is_backward || location.scope->phase() != OPDUMP_FORWARD) return;
  const ThreadState& thread = this_thread();
  const void* const caller = caller_;
  if (thread.is_in_model || (caller && caller != &thread)) return;
  const bool is_called = clock == Clock::model_calls ? model_called_ : backward_seen_;
  const std::uint64_t from = find_place();
  bool begins = from != 0 && rounds_.note_operator(from, is_called);
  // Where no lines are known: an operator with a gradient after a backward pass.
  if (clock == Clock::backward_passes && backward_seen_ &&
      at::sequence_number::peek() != thread.sequence_number)
    begins = true;
  if (begins && !waits_for_optimizer()) tick(clock);
}

// Autograd has made its nodes before the operator comes here: they belong to the operator that comes next.
void Observer::note_forward(Scope* scope, Source source) {
  ThreadState& thread = this_thread();
  const std::uint64_t next = at::sequence_number::peek();
  if (next == thread.sequence_number) return;
  const std::uint64_t first =
      next - std::min<std::uint64_t>(next > thread.sequence_number ? next - thread.sequence_number : 1, 64);
  for (std::uint64_t number = first; number < next; ++number)
    forward_locations().add({at::RecordFunction::currentThreadId(), number, scope, source});
  thread.sequence_number = next;
}

bool Observer::begins_recorded_step() {
  if (clock_ > Clock::model_calls) return false;
  note_pass(locate());
  if (!active_) this_thread().sequence_number = at::sequence_number::peek();
  return active_;
}

Observer::Storages Observer::settle_written(const OperatorKind& kind, c10::ArrayRef<c10::IValue> arguments) {
  Storages written;
  c10::SmallVector<std::uint64_t, 4> numbers;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (kind.writes_to(i, arguments))
      for_each_storage(arguments[i], [&](c10::StorageImpl* storage) {
        c10::raw::intrusive_ptr::incref(storage);
        written.push_back(c10::intrusive_ptr<c10::StorageImpl>::reclaim(storage));
        if (const auto content = contents_.find(storage); content.number != 0)
          numbers.push_back(content.number);
      });
  opdump_before_write(session_, numbers.data(), numbers.size());
  return written;
}

void Observer::run(const c10::OperatorHandle& op, c10::DispatchKeySet below, torch::jit::Stack* stack,
                   bool is_recorded) {
  const OperatorKind& kind = operator_kind(op);
  if (kind.skipped) return op.redispatchBoxed(below, stack);
  Execution execution;
  const auto arguments = torch::jit::last(*stack, kind.arguments.size());
  if (is_recorded) guarded([&] { begin_call(kind, arguments, execution); });
  guarded([&] { announce_writes(kind, arguments, execution); });
  try {
    std::optional<c10::DebugInfoGuard> carrier;
    if (const auto collective = kind.awaited ? Collectives::functional() : execution.collective)
      carrier.emplace(Collectives::carrier(), collective);
    op.redispatchBoxed(below, stack);
  } catch (...) {
    guarded([&] { failed(execution); });
    throw;
  }
  guarded([&] { after(kind, *stack, execution); });
  if (execution.call) end_call(execution, nullptr);  // what came after the operator has failed
}

void Observer::begin_call(const OperatorKind& kind, c10::ArrayRef<c10::IValue> arguments,
                          Execution& execution) {
  const Location location = locate();
  note_pass(location);
  const NamedOperator named = next_operator(location, kind.type);
  const opdump_op* const known = named.op;
  note_forward(location.scope, named.source);

  const int wants = opdump_wants(session_, known);
  if (wants == 0) return;
  Operands inputs(contents_);
  for (std::size_t i = 0; i < arguments.size(); ++i)
    inputs.add(arguments[i], kind.view && !keeps_failures_ ? kView
                             : kind.arguments[i].out       ? "out= argument"
                             : kind.arguments[i].written && collectives_.await_write_to(arguments[i])
                                 ? "not complete before the wait"
                             : kind.arguments[i].overwritten ? "only written to"
                                                             : nullptr);
  execution.call = opdump_begin(session_, known, inputs.data(), inputs.size());
  if (inputs.saw_capture())
    opdump_report_unseen(session_, "what is captured into a graph of the device",
                         "the device runs them when the graph is replayed");
  if (keeps_failures_ && execution.call) execution.memory = memory_of(arguments);
  if (ShardedCall* sharded = ShardedCall::current(); sharded && execution.call && !kind.view) {
    execution.sharded = known;
    sharded->begin(known, inputs);
  }
  if (wants & OPDUMP_WANTS_ARGUMENTS) {
    const Arguments given(kind, arguments);
    opdump_set_arguments(session_, execution.call, given.data(), given.size());
  }
}

void Observer::announce_writes(const OperatorKind& kind, c10::ArrayRef<c10::IValue> arguments,
                               Execution& execution) {
  if (kind.writes) execution.written = settle_written(kind, arguments);
  if (kind.is_silent)
    for (const auto& storage : execution.written) execution.sums.push_back(sum_of(*storage));
  execution.changed = find_changed(kind, arguments);
  if (kind.collective) execution.collective = collectives_.begin(written_of(kind, arguments));
}

void Observer::failed(Execution& execution) {
  for (const auto& storage : execution.written) contents_.changed(storage.get());
  if (execution.collective) collectives_.failed(execution.collective);
  const bool is_kept = keeps_failures_ && execution.call;
  end_call(execution, nullptr);
  if (is_kept) remember_failure(std::move(execution.memory));
}

// What an operator that does not say what it writes to has left as it was is not written to.
void Observer::note_changed(const Execution& execution) {
  for (std::size_t i = 0; i < execution.written.size(); ++i) {
    const auto& storage = execution.written[i];
    const auto before = i < execution.sums.size() ? execution.sums[i] : std::nullopt;
    if (!before || before != sum_of(*storage)) contents_.changed(storage.get());
  }
}

void Observer::after(const OperatorKind& kind, const torch::jit::Stack& stack, Execution& execution) {
  note_changed(execution);
  const auto returns = torch::jit::last(stack, kind.return_count);
  if (execution.collective) return returned(returns, execution);
  for (const auto& storage : execution.written) collectives_.note_written(storage.get());
  for (std::size_t i = 0; i < returns.size(); ++i)
    if (kind.leaves_uninitialised(i))
      for_each_storage(returns[i], [&](c10::StorageImpl* storage) { contents_.changed(storage, true); });
  if (!execution.call) return;
  Operands outputs(contents_);
  for (std::size_t i = 0; i < returns.size(); ++i)
    outputs.add(returns[i], kind.view && !dumps_views_             ? kView
                            : kind.leaves_uninitialised(i)         ? "uninitialised"
                            : kind.awaited                         ? "not complete before wait_tensor"
                            : kind.constant && is_huge(returns[i]) ? "filled with one number"
                                                                   : nullptr);
  for (const c10::IValue& value : execution.changed) outputs.add(value, nullptr);
  if (ShardedCall* sharded = execution.sharded ? ShardedCall::current() : nullptr)
    sharded->end(execution.sharded, outputs);
  end_call(execution, &outputs);
}

// No outputs: the operator threw, or they cannot be seen.
void Observer::end_call(Execution& execution, const Operands* outputs) {
  opdump_end(session_, std::exchange(execution.call, nullptr), outputs ? outputs->data() : nullptr,
             outputs ? outputs->size() : 0, outputs ? 0 : 1);
}

// A collective, which is not complete yet. What it returns beside tensors is what the program waits for.
void Observer::returned(c10::ArrayRef<c10::IValue> returns, Execution& execution) {
  const c10::IValue work = returns.empty() ? c10::IValue() : returns.back();
  const bool returns_tensors = returns.size() > 1;
  collectives_.returned(std::exchange(execution.collective, nullptr), std::exchange(execution.call, nullptr),
                        returns_tensors ? returns.slice(0, 1) : execution.changed, work);
}

// Of what an operator began, or of its own.
WorkPiece Observer::begin_work(const at::RecordFunction& record, const WorkTitle& title) {
  c10::ArrayRef<c10::IValue> written;
  if (title.writes == WorkTitle::Writes::inputs)
    written = c10::ArrayRef<c10::IValue>(record.inputs().data(), record.inputs().size());
  WorkPiece piece{Collectives::current(), {}};
  if (piece.collective && Collectives::add_piece(*piece.collective)) {
    for (const c10::IValue& value : written)
      for_each_storage(value, [&](c10::StorageImpl* storage) { piece.written.push_back(storage); });
    return piece;
  }
  if (title.writes == WorkTitle::Writes::nothing) return {};
  const bool is_recorded = piece.collective && piece.collective->is_functional;
  if (is_active() && !is_recorded) opdump_report_unseen(session_, record.name(), OPDUMP_UNSEEN_COLLECTIVE);
  for (const c10::IValue& value : written) settle(value);
  const bool writes_anywhere = title.writes == WorkTitle::Writes::unknown;
  piece.collective = collectives_.begin(written, writes_anywhere);
  if (writes_anywhere) opdump_before_any_write(session_);
  return piece;  // whose collective runs until it ends
}

void Observer::settle(const c10::IValue& value) {
  for_each_storage(value, [&](c10::StorageImpl* storage) {
    const std::uint64_t number = contents_.find(storage).number;
    opdump_before_write(session_, &number, 1);
  });
}

void Observer::note_failure(const char* text) noexcept {
  const std::string_view all = text;
  try {
    opdump_report_unseen(session_, "part of an operator", std::string(all.substr(0, all.find('\n'))).c_str());
  } catch (...) {  // no memory for a sentence
  }
}

void Observer::add_failure(const char* type, c10::ArrayRef<c10::IValue> arguments) {
  const Location location = locate();
  const opdump_op* const known = next_operator(location, type).op;
  if (!opdump_wants(session_, known)) return;
  Operands inputs(contents_);
  for (const c10::IValue& argument : arguments) inputs.add(argument, nullptr);
  opdump_end(session_, opdump_begin(session_, known, inputs.data(), inputs.size()), nullptr, 0, 1);
}

}  // namespace opdump::torch_adapter
