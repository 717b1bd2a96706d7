#include "observer.h"

#include <ATen/SequenceNumber.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "arguments.h"
#include "hooks.h"

namespace opdump::torch_adapter {
namespace {

// What this thread is doing.
struct Thread {
  struct Entry {
    Scope* scope;
    Source source;  // of backward nodes: the line of the forward operator
    bool backward;
  };
  std::vector<Entry> stack;
  Scope* last_backward = nullptr;  // the node that ran last: sums of gradients come between nodes
  Source last_backward_source;
  std::uint64_t sequence_number = 0;  // of autograd, as far as note_forward() has seen it
  int backward_calls = 0;             // of Python's backward() and grad() that this thread is inside of
};

Thread& this_thread() {
  thread_local Thread thread;
  return thread;
}

// Where the operator ran that made the autograd node with this (thread, sequence number). A ring: nodes that
// wait for their backward pass longer than 2^16 later ones are forgotten and count as gradients of the root.
class ForwardPlaces {
 public:
  struct Place {
    std::uint64_t thread = 0, sequence_number = 0;
    Scope* scope = nullptr;
    Source source;
  };
  void add(const Place& place) {
    const std::lock_guard lock(mutex_);
    ring_[slot(place.thread, place.sequence_number)] = place;
  }
  Place find(std::uint64_t thread, std::uint64_t sequence_number) {
    const std::lock_guard lock(mutex_);
    const Place& place = ring_[slot(thread, sequence_number)];
    return place.thread == thread && place.sequence_number == sequence_number ? place : Place{};
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
  std::vector<Place> ring_ = std::vector<Place>(kSize);
};

ForwardPlaces& forward_places() {
  static auto* places = new ForwardPlaces;  // never destroyed: threads may outlive static objects
  return *places;
}

// "Optimizer.step#SGD.step" -> "optimizer-SGD"; nothing for other records.
std::string optimizer_component(std::string_view record_name) {
  const std::size_t hash = record_name.find('#');
  const std::size_t dot = record_name.rfind('.');
  if (!record_name.starts_with("Optimizer.") || hash == std::string_view::npos || dot <= hash) return {};
  return "optimizer-" + std::string(record_name.substr(hash + 1, dot - hash - 1));
}

// Files below it are named relative to it, as Python's are.
const std::string& working_directory() {
  static const auto* directory = new std::string([] {
    std::error_code failed;
    const std::string path = std::filesystem::current_path(failed).string();
    return failed ? std::string("\n") : path + "/";
  }());
  return *directory;
}

// TorchScript has no Python frames; its interpreter knows the lines.
bool find_script_source(Source& source) {
  for (const torch::jit::StackEntry& entry : torch::jit::currentCallstack()) {
    const auto place = entry.range.file_line_col();
    if (!place) continue;
    const auto& [file, line, column] = *place;
    if (file.find("/torch/") != std::string::npos) continue;
    source = {intern(file.starts_with(working_directory()) ? file.substr(working_directory().size()) : file),
              static_cast<int>(line)};
    return true;
  }
  return false;
}

c10::SmallVector<c10::IValue, 2> written_of(const OperatorKind& kind, c10::ArrayRef<c10::IValue> arguments) {
  c10::SmallVector<c10::IValue, 2> written;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (kind.arguments[i].written) written.push_back(arguments[i]);
  return written;
}

// What an operator makes that returns no tensors: the arguments it writes to (torch._foreach_add_).
c10::SmallVector<c10::IValue, 2> find_changed(const c10::OperatorHandle& op, const OperatorKind& kind,
                                              c10::ArrayRef<c10::IValue> arguments) {
  if (op.schema().returns().size() > (kind.collective ? 1 : 0)) return {};
  return written_of(kind, arguments);
}

}  // namespace

Observer::Observer(opdump_session* session, std::string root, std::int64_t first_step, std::int64_t graph_id)
    : session_(session),
      names_(session, std::move(root), graph_id),
      collectives_(session, contents_),
      step_(first_step) {
  forward_places().clear();
  begin_step(first_step);
}

Observer::~Observer() {
  active_ = false;
  hook_thread(false);
}

void Observer::begin_step(std::int64_t step) {
  const bool was_active = active_;
  collectives_.give_up("not there when the step ended");
  step_ = step;
  const bool active = opdump_set_step(session_, step) != 0;
  names_.begin_step();
  backward_seen_ = false;
  if (active && !was_active) contents_.clear();  // writes were not observed
  active_ = active;
  hook_thread(is_watching());
  hook_backward(is_watching());
}

void Observer::count_by(Clock clock) {
  if (clock <= clock_.load()) return;
  clock_ = clock;
  if (active_) return;
  hook_thread(false);
  hook_backward(false);
}

void Observer::tick(Clock clock) {
  count_by(clock);
  if (clock_ == clock) begin_step(step_ + 1);
}

void Observer::outermost_call() {
  count_by(Clock::outermost_calls);
  if (calls_.fetch_add(1) > 0) tick(Clock::outermost_calls);  // the first call belongs to the first step
}

void Observer::enter_optimizer(std::string_view record_name) {
  const std::string component = optimizer_component(record_name);
  if (component.empty()) return;
  count_by(Clock::optimizers);
  Scope* scope = names_.child(names_.root(), component, OPDUMP_OPTIMIZER);
  this_thread().stack.push_back({scope, {}, false});
}

void Observer::leave_optimizer(std::string_view record_name) {
  if (optimizer_component(record_name).empty()) return;
  if (!this_thread().stack.empty()) this_thread().stack.pop_back();
  if (record_name.starts_with("Optimizer.step#")) tick(Clock::optimizers);
}

void Observer::enter_backward(const at::RecordFunction& node) {
  Thread& thread = this_thread();
  backward_seen_ = true;
  ForwardPlaces::Place place;
  if (node.seqNr() >= 0)
    place = forward_places().find(node.forwardThreadId(), static_cast<std::uint64_t>(node.seqNr()));
  Scope* scope = place.scope ? names_.gradients_of(place.scope)
                 : std::strstr(node.name(), "AccumulateGrad")
                     ? names_.child(names_.gradients_of(names_.root()), "AccumulateGrad", OPDUMP_BACKWARD)
                     : names_.gradients_of(names_.root());
  thread.stack.push_back({scope, place.source, true});
}

void Observer::leave_backward() {
  Thread& thread = this_thread();
  if (thread.stack.empty()) return;
  thread.last_backward = thread.stack.back().scope;
  thread.last_backward_source = thread.stack.back().source;
  thread.stack.pop_back();
}

Observer::Place Observer::locate() {
  Thread& thread = this_thread();
  if (!thread.stack.empty() && thread.stack.back().backward)
    return {thread.stack.back().scope, thread.stack.back().source, true};
  if (thread.backward_calls > 0 || !torch::autograd::get_current_graph_task_keep_graph()) {
    Scope* scope = thread.last_backward ? thread.last_backward : names_.gradients_of(names_.root());
    return {scope, thread.last_backward_source, true};
  }
  thread.last_backward = nullptr;
  thread.last_backward_source = {};
  return {thread.stack.empty() ? names_.root() : thread.stack.back().scope, {}, false};
}

// Walks the frames of the program, which takes longer than everything else here: only for new operators.
Source Observer::find_source(const Place& place) const {
  Source source = place.source;
  const opdump_torch_bridge* bridge = current_bridge();
  if (!source.file && bridge && bridge->find_source) bridge->find_source(&source.file, &source.line);
  if (!place.is_backward) find_script_source(source);
  return source;
}

// In a program whose steps are only known by its passes, a forward operator after a backward pass begins the
// next one.
void Observer::note_pass(const Place& place) {
  if (clock_ == Clock::backward_passes && backward_seen_ && place.scope->phase() == OPDUMP_FORWARD &&
      at::sequence_number::peek() != this_thread().sequence_number)
    tick(Clock::backward_passes);
}

// Autograd has made its nodes before the operator comes here: they belong to the operator that comes next.
void Observer::note_forward(Scope* scope, Source source) {
  Thread& thread = this_thread();
  const std::uint64_t next = at::sequence_number::peek();
  if (next == thread.sequence_number) return;
  const std::uint64_t first =
      next - std::min<std::uint64_t>(next > thread.sequence_number ? next - thread.sequence_number : 1, 64);
  for (std::uint64_t number = first; number < next; ++number)
    forward_places().add({at::RecordFunction::currentThreadId(), number, scope, source});
  thread.sequence_number = next;
}

bool Observer::begins_recorded_step() {
  if (clock_ != Clock::backward_passes) return false;
  if (backward_seen_) note_pass(locate());
  if (!active_) this_thread().sequence_number = at::sequence_number::peek();
  return active_;
}

Observer::Storages Observer::settle_written(const OperatorKind& kind, c10::ArrayRef<c10::IValue> arguments) {
  Storages written;
  c10::SmallVector<std::uint64_t, 4> numbers;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (kind.arguments[i].written)
      for_each_storage(arguments[i], [&](c10::StorageImpl* storage) {
        c10::raw::intrusive_ptr::incref(storage);
        written.push_back(c10::intrusive_ptr<c10::StorageImpl>::reclaim(storage));
        if (const auto content = contents_.find(storage); content.number != 0)
          numbers.push_back(content.number);
      });
  opdump_before_write(session_, numbers.data(), numbers.size());
  return written;
}

void Observer::run(const c10::OperatorHandle& op, c10::DispatchKeySet below, torch::jit::Stack* stack) {
  const OperatorKind& kind = operator_kind(op);
  if (kind.skipped) return op.redispatchBoxed(below, stack);
  Execution execution;
  guarded([&] { before(op, kind, *stack, execution); });
  try {
    const c10::DebugInfoGuard carrier(Collectives::kCarrier, execution.collective);
    op.redispatchBoxed(below, stack);
  } catch (...) {
    guarded([&] { failed(execution); });
    throw;
  }
  guarded([&] { after(op, kind, *stack, execution); });
  if (execution.call) end_call(execution, nullptr);  // what came after the operator has failed
}

void Observer::before(const c10::OperatorHandle& op, const OperatorKind& kind, const torch::jit::Stack& stack,
                      Execution& execution) {
  const Place place = locate();
  note_pass(place);
  const auto [known, source] =
      names_.next_operator(place.scope, kind.type, [&] { return find_source(place); });
  note_forward(place.scope, source);

  const std::size_t count = kind.arguments.size();
  const auto arguments = torch::jit::last(stack, count);
  if (const int wants = opdump_wants(session_, known)) {
    Operands inputs(contents_);
    for (std::size_t i = 0; i < count; ++i)
      inputs.add(arguments[i], kind.view ? kView : kind.arguments[i].out ? "out= argument" : nullptr);
    execution.call = opdump_begin(session_, known, inputs.data(), inputs.size());
    if (wants & OPDUMP_WANTS_ARGUMENTS) {
      const Arguments told(op.schema(), arguments);
      opdump_set_arguments(session_, execution.call, told.data(), told.size());
    }
  }
  if (kind.writes) execution.written = settle_written(kind, arguments);
  execution.changed = find_changed(op, kind, arguments);
  if (kind.collective) execution.collective = collectives_.begin(written_of(kind, arguments));
}

void Observer::failed(Execution& execution) {
  for (const auto& storage : execution.written) contents_.changed(storage.get());
  if (execution.collective) collectives_.failed(execution.collective);
  end_call(execution, nullptr);
}

void Observer::after(const c10::OperatorHandle& op, const OperatorKind& kind, const torch::jit::Stack& stack,
                     Execution& execution) {
  for (const auto& storage : execution.written) contents_.changed(storage.get());
  const auto returns = torch::jit::last(stack, op.schema().returns().size());
  if (execution.collective) return returned(returns, execution);
  for (std::size_t i = 0; i < returns.size(); ++i)
    if (kind.leaves_uninitialised(i))
      for_each_storage(returns[i], [&](c10::StorageImpl* storage) { contents_.changed(storage, true); });
  if (!execution.call) return;
  Operands outputs(contents_);
  for (std::size_t i = 0; i < returns.size(); ++i)
    outputs.add(returns[i], kind.view ? kView : kind.leaves_uninitialised(i) ? "uninitialised" : nullptr);
  for (const c10::IValue& value : execution.changed) outputs.add(value, nullptr);
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
Collectives::Pointer Observer::begin_work(const at::RecordFunction& record, const WorkTitle& title) {
  Collectives::Pointer collective = Collectives::current();
  if (collective && Collectives::add_piece(*collective)) return collective;
  if (title.writes == WorkTitle::Writes::nothing) return nullptr;
  if (is_active()) opdump_report_unseen(session_, record.name(), "torch runs it without an operator");
  c10::ArrayRef<c10::IValue> written;
  if (title.writes == WorkTitle::Writes::inputs)
    written = c10::ArrayRef<c10::IValue>(record.inputs().data(), record.inputs().size());
  for (const c10::IValue& value : written) settle(value);
  const bool writes_anywhere = title.writes == WorkTitle::Writes::unknown;
  collective = collectives_.begin(written, writes_anywhere);
  if (writes_anywhere) opdump_before_any_write(session_);
  return collective;  // which runs until its only piece ends
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
    opdump_report_unseen(session_, "something of an operator",
                         std::string(all.substr(0, all.find('\n'))).c_str());
  } catch (...) {  // no memory for a sentence
  }
}

}  // namespace opdump::torch_adapter

// The scope stack of a thread, for the bridge.
using opdump::torch_adapter::current_observer;
using opdump::torch_adapter::Scope;
using opdump::torch_adapter::this_thread;

void* opdump_torch_module_scope(void) {
  const auto& stack = this_thread().stack;
  return stack.empty() || stack.back().backward || stack.back().scope->phase() != OPDUMP_FORWARD
             ? nullptr
             : stack.back().scope;
}

void opdump_torch_push_scope(void* scope) {
  this_thread().stack.push_back({static_cast<Scope*>(scope), {}, false});
}

void opdump_torch_enter_backward_call(void) { ++this_thread().backward_calls; }
void opdump_torch_leave_backward_call(void) { --this_thread().backward_calls; }

void opdump_torch_pop(void) {
  if (!this_thread().stack.empty()) this_thread().stack.pop_back();
}
