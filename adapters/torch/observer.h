// Observes every ATen operator through a boxed fallback on the dispatch key `Fake`, which is below autograd
// and above the backends. While a step is recorded, the key is in the set of included keys of each thread.
// RecordFunction adds information that the dispatcher lacks: the running backward node, and optimizer steps.
// Outside recorded steps the key is not included and nothing is hooked, with two exceptions: if only calls
// and backward passes mark the steps, these are still observed to find the next step; and threads that begin
// meanwhile keep the key for later steps.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/record_function.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

#include "bridge.h"
#include "collectives.h"
#include "contents.h"
#include "failures.h"
#include "names.h"
#include "operands.h"
#include "operator_kind.h"
#include "thread_state.h"

namespace opdump::torch_adapter {

// Knows when the loop that calls a model comes round. Thread-safe. What prepares a call -- makes its input,
// fetches a batch -- belongs to the step of that call, and what follows from it, too. Which is which is known
// by the place in the program that an operator is called from: what ran before the first call of that place
// in the loop prepared it, and when it runs again the next round has begun.
class Rounds {
 public:
  // An operator outside of the model's calls, from `place`. True if it begins a round; `is_called`: there was
  // a call in the round under way.
  bool note_operator(std::uint64_t place, bool is_called);
  // The first call of a round.
  void note_call(std::uint64_t place);

 private:
  std::mutex mutex_;  // guards the rest
  std::unordered_set<std::uint64_t> calls_, preparations_, followers_;
  std::unordered_set<std::uint64_t> since_call_;
};

// One recording of this process.
class Observer {
 public:
  // `only_executions`: see enter_execution().
  Observer(opdump_session* session, std::string root, std::int64_t first_step, std::int64_t graph_id,
           bool only_executions);
  ~Observer();

  // Runs the operator on top of the stack; not recorded, what it writes is seen all the same. Nothing but the
  // operator itself throws.
  void run(const c10::OperatorHandle& op, c10::DispatchKeySet below, torch::jit::Stack* stack,
           bool is_recorded);

  // For an operator of a step that is not recorded: it may begin the next step. True if it is to be recorded.
  bool begins_recorded_step();

  // Who counts the steps; a later one in this list replaces an earlier one when it ends its first step.
  enum class Clock { backward_passes, model_calls, optimizers, explicit_calls };
  void tick(Clock clock);

  // Around a call of a module that no other module called.
  struct ModuleCall {
    bool counts = false;   // it is what the program's steps are about
    bool repeats = false;  // the step under way has called it already
    bool trains = false;   // a backward pass may follow
  };
  void enter_call(const ModuleCall& call);
  void leave_call();

  // Around an execution of a compiled model. Where only these are recorded, each is a step.
  void enter_execution();
  void leave_execution();
  bool records_executions() const { return only_executions_; }
  // Whether what this thread runs now is to be recorded, as far as that goes.
  bool sees_thread() const;

  // Where operators of this thread belong now: a module, a backward node, an optimizer.
  Scope* current_scope() { return locate().scope; }

  // This thread takes part, as of now.
  void join_thread();

  // What the step under way is if the recording ends now.
  opdump_step_end open_step() const;

  // Records an operator that failed without the dispatch key having seen it, with its inputs.
  void add_failure(const char* type, c10::ArrayRef<c10::IValue> arguments);
  bool keeps_failures() const { return keeps_failures_; }

  // Around generated code: it writes where it likes, and nothing of it can be seen.
  void enter_generated();
  void leave_generated();
  // The generated code as one operator with inputs and outputs. Null: it is not recorded.
  opdump_call* begin_region(const char* type, c10::ArrayRef<at::Tensor> inputs,
                            const char* undumped = nullptr);
  // `has_own_numbers`: it drew random numbers by a generator of its own.
  void end_region(opdump_call* call, c10::ArrayRef<at::Tensor> outputs, bool has_own_numbers);

  void enter_optimizer(std::string_view record_name);
  void leave_optimizer(std::string_view record_name);
  void enter_backward(const at::RecordFunction& node);
  void leave_backward();

  // A piece of work begins that may go on after its operator has returned, or that no operator began.
  WorkPiece begin_work(const at::RecordFunction& record, const WorkTitle& title);
  void end_work(const WorkPiece& piece) { collectives_.end_piece(piece); }
  // Before the session is closed.
  void give_up_work() { collectives_.give_up("not finished when the recording ended"); }

  // Calls `f`. What is thrown there is a loss, and not the program's concern.
  template <typename F>
  void guarded(F&& f) noexcept {
    try {
      f();
    } catch (const c10::Error& error) {
      note_failure(error.what_without_backtrace());
    } catch (const std::exception& error) {
      note_failure(error.what());
    } catch (...) {
      note_failure("unknown exception");
    }
  }

  Names& names() { return names_; }
  Contents& contents() { return contents_; }
  opdump_session* session() { return session_; }
  bool is_active() const { return active_.load(std::memory_order_relaxed); }
  // Whether operators and backward passes have to be seen: some clocks know by them when the next step
  // begins.
  bool is_watching() const { return is_active() || clock_ <= Clock::model_calls; }
  std::int64_t step() const { return step_.load(std::memory_order_relaxed); }

 private:
  struct Location {
    Scope* scope;
    Source source;  // of a backward operator, if the forward one's is known
    bool is_backward;
  };
  using Storages = c10::SmallVector<c10::intrusive_ptr<c10::StorageImpl>, 4>;
  using Sums = c10::SmallVector<std::optional<std::uint64_t>, 4>;
  // An operator on its way.
  struct Execution {
    opdump_call* call = nullptr;
    Storages written;
    Sums sums;  // of `written`, before an operator that does not say what it writes to
    c10::SmallVector<c10::IValue, 2> changed;
    Collectives::Pointer collective;
    Memory memory;                       // what it was given, where failures are kept
    const opdump_op* sharded = nullptr;  // where it runs on parts of tensors
  };
  void begin_call(const OperatorKind& kind, c10::ArrayRef<c10::IValue> arguments, Execution& execution);
  void announce_writes(const OperatorKind& kind, c10::ArrayRef<c10::IValue> arguments, Execution& execution);
  void after(const OperatorKind& kind, const torch::jit::Stack& stack, Execution& execution);
  void note_changed(const Execution& execution);
  void failed(Execution& execution);
  void returned(c10::ArrayRef<c10::IValue> returns, Execution& execution);
  void end_call(Execution& execution, const Operands* outputs);
  void note_failure(const char* text) noexcept;
  Location locate();
  // The memory that an operator is about to write, kept alive. Waits until nothing of it is pending.
  Storages settle_written(const OperatorKind& kind, c10::ArrayRef<c10::IValue> arguments);
  // Waits until the recorder has read the borrowed memory of the tensors in `value`.
  void settle(const c10::IValue& value);
  Source find_source(const Location& location) const;
  std::uint64_t place_of(const Location& location) const;
  NamedOperator next_operator(const Location& location, const char* type);
  void note_pass(const Location& location);
  bool waits_for_optimizer() const;
  void count_by(Clock clock);
  void note_forward(Scope* scope, Source source);
  void begin_step(std::int64_t step);

  opdump_session* session_;
  bool only_executions_;
  std::atomic<bool> has_executed_{false};
  const bool keeps_failures_;  // views fail, too: their inputs are wanted
  const bool dumps_views_;     // what they return is wanted
  Names names_;
  Contents contents_;
  Collectives collectives_;
  std::atomic<std::int64_t> step_;
  std::atomic<bool> active_{false};
  std::atomic<Clock> clock_{Clock::backward_passes};
  std::atomic<std::int64_t> ended_steps_{0};

  // Of the step under way.
  std::atomic<bool> backward_seen_{false};
  std::atomic<bool> model_called_{false};
  std::atomic<bool> trains_{false};  // what the model gave may be trained with

  std::atomic<const void*> caller_{nullptr};  // the thread that calls the model
  Rounds rounds_;
};

}  // namespace opdump::torch_adapter
