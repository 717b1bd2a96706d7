// Sees every ATen operator that runs: a boxed fallback on the dispatch key `Fake`, which lies below autograd
// and above the backends, is put into the set of included keys of each thread while a step is recorded.
// RecordFunction adds what the dispatcher cannot know: which backward node runs, and when an optimizer steps.
// While no step is recorded the key is not included and nothing is hooked, with two exceptions: a program
// whose steps are only known by its passes is watched for the next one, and threads that begin then keep the
// key for the steps to come.
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
#include <string>
#include <vector>

#include "bridge.h"
#include "collectives.h"
#include "contents.h"
#include "names.h"
#include "operands.h"
#include "operator_kind.h"

namespace opdump::torch_adapter {

// One recording of this process.
class Observer {
 public:
  Observer(opdump_session* session, std::string root, std::int64_t first_step, std::int64_t graph_id);
  ~Observer();

  // Runs the operator on top of the stack, recorded. Nothing but the operator itself throws.
  void run(const c10::OperatorHandle& op, c10::DispatchKeySet below, torch::jit::Stack* stack);

  // For an operator of a step that is not recorded: it may begin the next step. True if it is to be recorded.
  bool begins_recorded_step();

  // Who counts the steps; a later one in this list replaces an earlier one.
  enum class Clock { backward_passes, outermost_calls, optimizers, explicit_calls };
  void count_by(Clock clock);
  void tick(Clock clock);
  void outermost_call();

  void enter_optimizer(std::string_view record_name);
  void leave_optimizer(std::string_view record_name);
  void enter_backward(const at::RecordFunction& node);
  void leave_backward();

  // A piece of work begins that may go on after its operator has returned, or that no operator began.
  Collectives::Pointer begin_work(const at::RecordFunction& record, const WorkTitle& title);
  void end_work(const Collectives::Pointer& collective) { collectives_.end_piece(collective); }
  // Before the session is closed.
  void give_up_work() { collectives_.give_up("not there when the recording ended"); }

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
  // Whether backward passes have to be seen.
  bool is_watching() const { return is_active() || clock_ == Clock::backward_passes; }
  std::int64_t step() const { return step_.load(std::memory_order_relaxed); }

 private:
  struct Place {
    Scope* scope;
    Source source;  // of a backward operator, if the forward one's is known
    bool is_backward;
  };
  using Storages = c10::SmallVector<c10::intrusive_ptr<c10::StorageImpl>, 4>;
  // An operator on its way.
  struct Execution {
    opdump_call* call = nullptr;
    Storages written;
    c10::SmallVector<c10::IValue, 2> changed;
    Collectives::Pointer collective;
  };
  void before(const c10::OperatorHandle& op, const OperatorKind& kind, const torch::jit::Stack& stack,
              Execution& execution);
  void after(const c10::OperatorHandle& op, const OperatorKind& kind, const torch::jit::Stack& stack,
             Execution& execution);
  void failed(Execution& execution);
  void returned(c10::ArrayRef<c10::IValue> returns, Execution& execution);
  void end_call(Execution& execution, const Operands* outputs);
  void note_failure(const char* text) noexcept;
  Place locate();
  // The memory that an operator is about to write, kept alive. Waits until nothing of it is pending.
  Storages settle_written(const OperatorKind& kind, c10::ArrayRef<c10::IValue> arguments);
  // Waits until nobody reads what the tensors in `value` have lent.
  void settle(const c10::IValue& value);
  Source find_source(const Place& place) const;
  void note_pass(const Place& place);
  void note_forward(Scope* scope, Source source);
  void begin_step(std::int64_t step);

  opdump_session* session_;
  Names names_;
  Contents contents_;
  Collectives collectives_;
  std::atomic<std::int64_t> step_;
  std::atomic<bool> active_{false};
  std::atomic<Clock> clock_{Clock::backward_passes};
  std::atomic<bool> backward_seen_{false};
  std::atomic<std::uint64_t> calls_{0};
};

// The recording under way, or null.
Observer* current_observer();

}  // namespace opdump::torch_adapter
