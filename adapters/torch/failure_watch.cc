#include "failure_watch.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <torch/library.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bridge.h"
#include "failures.h"
#include "names.h"
#include "observer.h"
#include "operator_kind.h"
#include "switches.h"

namespace opdump::torch_adapter {
namespace {

// An operator that is under way.
struct Call : at::ObserverContext {
  std::vector<c10::IValue> arguments;
  int exceptions = std::uncaught_exceptions();
  std::uint64_t failures_before = failure_count();
};

// Whether a part of it failed that was given any of its tensors: that has been saved, and says more.
bool is_saved(const Call& call) {
  if (failure_count() == call.failures_before) return false;
  const Memory own = memory_of(call.arguments);
  return std::ranges::find_first_of(own, last_failed_memory()) != own.end();
}

void record(const char* type, c10::ArrayRef<c10::IValue> arguments) {
  Observer* observer = current_observer();
  if (!observer || !observer->is_active() || !observer->sees_thread()) return;
  observer->guarded([&] { observer->add_failure(type, arguments); });
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  const Observer* observer = current_observer();
  // What kernels call belongs to the kernel, which the dispatch key sees fail.
  if (!observer || !observer->is_active() || !observer->sees_thread() || is_inside_kernel() ||
      !function.operator_name())
    return nullptr;
  if (memory_of(function.inputs()).empty()) return nullptr;
  auto call = std::make_unique<Call>();
  call->arguments.assign(function.inputs().begin(), function.inputs().end());
  return call;
}

void on_end(const at::RecordFunction& function, at::ObserverContext* context) {
  const auto* call = static_cast<const Call*>(context);
  if (!call || std::uncaught_exceptions() <= call->exceptions || is_saved(*call)) return;
  const auto op = c10::Dispatcher::singleton().findSchema(*function.operator_name());
  if (!op || operator_kind(*op).skipped) return;
  // What parts of it were given stays known: an operator around this one may have got that, too.
  Memory memory = failure_count() == call->failures_before ? Memory() : last_failed_memory();
  const Memory own = memory_of(call->arguments);
  memory.insert(memory.end(), own.begin(), own.end());
  record(operator_kind(*op).type, call->arguments);
  remember_failure(std::move(memory));
}

}  // namespace

void watch_failures(bool on) {
  static at::CallbackHandle callback = at::INVALID_CALLBACK_HANDLE;
  if (callback == at::INVALID_CALLBACK_HANDLE) {
    if (!on) return;
    callback = at::addGlobalCallback(
        at::RecordFunctionCallback(on_start, on_end).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  } else if (on) {
    at::reenableCallback(callback);
  } else {
    at::disableCallback(callback);
  }
}

// For the Python package: what failed before there was an operator.
TORCH_LIBRARY(opdump_torch, m) {
  m.def("add_failure(str type, Tensor[] inputs) -> ()",
        [](const std::string& type, const std::vector<at::Tensor>& inputs) {
          const c10::IValue list(inputs);
          record(intern(type), list);
          remember_failure(memory_of({&list, 1}));
        });
  // And what runs without operators.
  m.def("begin_region(str type, Tensor[] inputs) -> int",
        [](const std::string& type, const std::vector<at::Tensor>& inputs) {
          opdump_call* call = nullptr;
          Observer* observer = current_observer();
          if (observer && observer->is_active() && observer->sees_thread())
            observer->guarded([&] { call = observer->begin_region(type.c_str(), inputs); });
          return reinterpret_cast<std::int64_t>(call);
        });
  // A region whose operators are recorded: where it begins, without data.
  m.def("mark_region(str type, Tensor[] inputs) -> ()", [](const std::string& type,
                                                           const std::vector<at::Tensor>& inputs) {
    Observer* observer = current_observer();
    if (observer && observer->is_active() && observer->sees_thread())
      observer->guarded([&] {
        observer->end_region(observer->begin_region(type.c_str(), inputs, "of a compiled region"), {}, false);
      });
  });
  m.def("end_region(int call, Tensor[] outputs, bool has_own_numbers) -> ()",
        [](std::int64_t call, const std::vector<at::Tensor>& outputs, bool has_own_numbers) {
          if (Observer* observer = current_observer())
            observer->guarded([&] {
              observer->end_region(reinterpret_cast<opdump_call*>(call), outputs, has_own_numbers);
            });
        });
}

}  // namespace opdump::torch_adapter

std::uint64_t opdump_torch_failures(void) { return opdump::torch_adapter::failure_count(); }

int opdump_torch_keeps_failures(void) {
  const auto* observer = opdump::torch_adapter::current_observer();
  return observer && observer->keeps_failures();
}
