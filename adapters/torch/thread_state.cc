#include "thread_state.h"

#include <ATen/SequenceNumber.h>

#include <utility>

#include "bridge.h"

namespace opdump::torch_adapter {

// Begins anew with each recording: scopes and numbers of the one before mean nothing to it.
ThreadState& this_thread() {
  thread_local ThreadState thread;
  if (const Observer* now = current_observer(); now && now != thread.recording) {
    ThreadState fresh;
    fresh.recording = now;
    fresh.sequence_number = at::sequence_number::peek();
    fresh.backward_calls = thread.backward_calls;
    thread = std::move(fresh);
  }
  return thread;
}

namespace {
std::uint64_t ask_for_place(bool with_callers) {
  const opdump_torch_bridge* bridge = current_bridge();
  return bridge && bridge->find_place ? bridge->find_place(with_callers ? 1 : 0) : 0;
}
}  // namespace

std::uint64_t find_place() { return ask_for_place(true); }
std::uint64_t find_instruction() { return ask_for_place(false); }

}  // namespace opdump::torch_adapter

// The scope stack of a thread, for the bridge.
using opdump::torch_adapter::Scope;
using opdump::torch_adapter::this_thread;

void* opdump_torch_module_scope(void) {
  const auto& stack = this_thread().stack;
  return stack.empty() || stack.back().backward || stack.back().scope->phase() != OPDUMP_FORWARD
             ? nullptr
             : stack.back().scope;
}

void opdump_torch_push_scope(void* scope) {
  auto* const at = static_cast<Scope*>(scope);
  auto& thread = this_thread();
  if (thread.stack.empty()) thread.outer_place = opdump::torch_adapter::find_place();
  thread.stack.push_back({at, {}, at->phase() == OPDUMP_BACKWARD});
}

void opdump_torch_enter_backward_call(void) { ++this_thread().backward_calls; }
void opdump_torch_leave_backward_call(void) { --this_thread().backward_calls; }

void opdump_torch_pop(void) {
  if (!this_thread().stack.empty()) this_thread().stack.pop_back();
}
