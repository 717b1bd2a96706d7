// What opdump/dumper.py calls: operators of the namespace opdump_dumper. Not a module of Python, because
// torch hands them tensors without this library having to know torch's Python objects.
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/SavedTensorHooks.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/library.h>

#include <memory>
#include <vector>

#include "bridge.h"
#include "dumper/dumper.h"
#include "torch_version.h"

namespace opdump::torch_adapter {
namespace {

void start(std::int64_t mode, std::string dump_path, std::string load_path, bool with_acl,
           bool bug_compatible, std::int64_t device_type) {
  Dumper::Options options;
  options.mode = static_cast<Dumper::Mode>(mode);
  options.dump_path = std::move(dump_path);
  options.load_path = std::move(load_path);
  options.with_acl = with_acl;
  options.style = {bug_compatible, device_type};
  dumper().start(options);
  if (options.mode != Dumper::Mode::off) set_interceptor(&dumper());
}

std::string stop() {
  set_interceptor(nullptr);
  return dumper().stop();
}

// Python has one word for lists of whatever: tuples. Those of integers are written as lists of integers.
c10::IValue to_list(const c10::IValue& value) {
  if (!value.isTuple()) return value;
  std::vector<std::int64_t> integers;
  for (const c10::IValue& item : value.toTupleRef().elements())
    if (item.isInt()) integers.push_back(item.toInt());
  return integers;
}

NamedValues to_values(const std::vector<std::string>& names, const std::vector<std::int64_t>& types,
                      c10::ArrayRef<c10::IValue> from) {
  NamedValues values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto type = static_cast<ValueType>(types[i]);
    if (type == ValueType::tensors)
      add_list(names[i], from[i].toTupleRef().elements().vec(), values);
    else
      add_value({names[i], type}, to_list(from[i]), values);
  }
  return values;
}

void begin_node(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  const c10::IValue values = torch::jit::pop(*stack);
  const auto types = torch::jit::pop(*stack).toIntVector();
  std::vector<std::string> names;
  const c10::IValue list = torch::jit::pop(*stack);  // outlives what refers into it
  for (const c10::IValue& name : list.toListRef()) names.push_back(name.toStringRef());
  const std::string node = torch::jit::pop(*stack).toStringRef();
  dumper().begin_node(node, to_values(names, types, values.toListRef()));
}

// Whether the program wants to hear of its overflow.
bool end_node(const c10::List<c10::optional<at::Tensor>>& grad_inputs) {
  const c10::IValue list(grad_inputs);
  return dumper().end_node(list.toListRef()) && torch::autograd::AnomalyMode::is_enabled();
}

// What is excluded while the calling thread is hidden stays visible in what is included.
bool is_transformed() {
  return c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerFrontMode);
}

#if OPDUMP_TORCH_AT_LEAST(2, 0)
bool has_saved_tensor_hooks() { return !at::SavedTensorDefaultHooks::get_tls_state().stack.empty(); }
#else
// torch knows whether the process ever had default hooks for saved tensors, and hands out a stack of them
// only then.
bool has_saved_tensor_hooks() {
  using Hooks = at::SavedTensorDefaultHooks;
  const auto own = Hooks::get_stack();
  auto probe = own;
  auto* const any = reinterpret_cast<PyObject*>(&probe);  // never looked into
  probe.emplace(any, any);
  Hooks::set_stack(std::move(probe));
  const bool found = Hooks::get_hooks().first != nullptr;
  Hooks::set_stack(own);
  return found;
}
#endif

// Of torch functions: those of modes and of subclasses are the program's.
struct Hidden {
  Unobserved unobserved;
  at::impl::PythonTorchFunctionTLS functions = at::impl::PythonTorchFunctionTLS::get_state();
  Hidden() {
    at::impl::PythonTorchFunctionTLS::set_state(at::impl::PythonTorchFunctionTLS());
#if OPDUMP_TORCH_AT_LEAST(2, 0)
    at::impl::PythonTorchFunctionTLS::set_disabled_state(at::impl::TorchFunctionDisabledState::ALL_DISABLED);
#else
    at::impl::PythonTorchFunctionTLS::set_disabled(true);
#endif
  }
  ~Hidden() { at::impl::PythonTorchFunctionTLS::set_state(functions); }
};
thread_local std::vector<std::unique_ptr<Hidden>> hidden;

}  // namespace

TORCH_LIBRARY(opdump_dumper, m) {
  m.def(
      "start(int mode, str dump_path, str load_path, bool with_acl, bool bug_compatible, int device_type) -> "
      "()",
      start);
  m.def("stop() -> str", stop);
  m.def("begin_node(str node, str[] names, int[] types, Any[] values) -> ()",
        torch::CppFunction::makeFromBoxedFunction<&begin_node>());
  m.def("end_node(Tensor?[] grad_inputs) -> bool", end_node);
  m.def("lose(str name, str reason) -> ()",
        [](std::string name, std::string reason) { dumper().lose(name, reason); });
  m.def("is_transformed() -> bool", is_transformed);
  m.def("has_saved_tensor_hooks() -> bool", has_saved_tensor_hooks);
  m.def("abandon_node() -> ()", [] { dumper().abandon_node(); });
  m.def("is_skipped_node(str node) -> bool", [](std::string node) { return is_skipped_node(node); });
}

}  // namespace opdump::torch_adapter

void opdump_torch_hide(void) {
  opdump::torch_adapter::hidden.push_back(std::make_unique<opdump::torch_adapter::Hidden>());
}

void opdump_torch_unhide(void) {
  if (!opdump::torch_adapter::hidden.empty()) opdump::torch_adapter::hidden.pop_back();
}
