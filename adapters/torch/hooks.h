// Installs and removes the hooks in torch. See hooks.cc for the conditions.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <functional>

#include "bridge.h"

namespace opdump::torch_adapter {

// Adds the dispatch key to this thread's set, or removes it.
void hook_thread(bool on);

// Whether this thread is inside of an operator that the key has seen: what runs now is a part of it.
bool is_inside_kernel();

// Stands before the recording: every operator of a hooked thread goes through it first.
class Interceptor {
 public:
  // Runs the operator; `recorded`: so that the recording under way, if there is one, sees it.
  using Call = std::function<void(bool recorded)>;

  virtual ~Interceptor() = default;
  // `call` must be called once.
  virtual void run(const c10::OperatorHandle& op, torch::jit::Stack* stack, const Call& call) = 0;
};
// Hooks this thread, too. Null: there is none any more. A process that was forked has none.
void set_interceptor(Interceptor* interceptor);

// Whether backward nodes are reported; process-wide.
void hook_backward(bool on);

// What Python gave us, or null in a C++ program.
const opdump_torch_bridge* current_bridge();

}  // namespace opdump::torch_adapter
