// Operators on their way to the recording, and who may stand before it.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <functional>

namespace opdump::torch_adapter {

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

}  // namespace opdump::torch_adapter
