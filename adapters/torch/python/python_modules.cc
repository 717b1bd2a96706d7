// Which module calls which: the scopes of modules, and what a call of one means for the recording's steps.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <unordered_map>
#include <utility>
#include <vector>

#include "python/python_module.h"

namespace opdump::torch_adapter {
namespace {

struct ModuleScope {
  void* scope = nullptr;
  bool is_model = false;
  int rank = 0;   // of an outermost module: the calls of those that rank highest are steps
  Ref reference;  // weak; an address may be used again by another module
};

struct ModuleKey {
  void* parent;
  PyObject* module;
  bool operator==(const ModuleKey&) const = default;
};
struct ModuleHash {
  std::size_t operator()(const ModuleKey& key) const {
    return reinterpret_cast<std::uintptr_t>(key.parent) * 31 ^
           reinterpret_cast<std::uintptr_t>(key.module) >> 4;
  }
};
std::unordered_map<ModuleKey, ModuleScope, ModuleHash>& module_scopes() {
  static auto* scopes = new std::unordered_map<ModuleKey, ModuleScope, ModuleHash>;
  return *scopes;
}

// The modules this thread is inside of, with the scope each was given.
struct Frame {
  PyObject* module;  // borrowed: the caller holds it
  void* scope;
};
thread_local std::vector<Frame> frames;
// Every call this thread is inside of, also while nothing is recorded.
struct ModuleCall {
  bool has_scope = false;  // it is in `frames`, too
  bool is_execution = false;
};
thread_local std::vector<ModuleCall> calls;

// Whether the weak reference is to `object`, which is alive.
bool refers_to(const Ref& reference, PyObject* object) {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* found = nullptr;
  PyWeakref_GetRef(reference.get(), &found);
  return Ref(found).get() == object;
#else
  return PyWeakref_GetObject(reference.get()) == object;
#endif
}

// Modules whose calls are executions of a compiled model, with weak references to them.
std::unordered_map<PyObject*, Ref>& compiled() {
  static auto* modules = new std::unordered_map<PyObject*, Ref>;
  return *modules;
}

bool is_compiled(PyObject* module) {
  const auto found = compiled().find(module);
  return found != compiled().end() && refers_to(found->second, module);
}

// Of the recording under way: which outermost modules count, and which of these its current step has called.
struct Counted {
  void* recording = nullptr;
  std::int64_t step = -1;
  int rank = -1;
  std::unordered_map<PyObject*, Ref> modules;  // with weak references to them

  bool has_called(PyObject* module) const {
    const auto found = modules.find(module);
    return found != modules.end() && refers_to(found->second, module);
  }
};
Counted counted;

// Begins anew with each recording, whose root is its own: what is under way belongs to none.
void join_recording(void* root) {
  thread_local void* recording = nullptr;
  if (recording == root) return;
  recording = root;
  frames.clear();
  calls.assign(calls.size(), {});
  opdump_torch_join_thread();
}

Ref find_flag(PyObject* module) {
  return Ref(PyObject_CallFunctionObjArgs(package().find_flag, module, nullptr));
}

// Hands on what set_dump() said of a module, or of the innermost one around it of which it said something.
void flag_scope(void* scope, PyObject* module) {
  Ref flag = find_flag(module);
  for (auto frame = frames.rbegin(); flag && flag.get() == Py_None && frame != frames.rend(); ++frame)
    flag = find_flag(frame->module);
  if (flag && flag.get() != Py_None) opdump_torch_flag_scope(scope, flag.get() == Py_True);
  PyErr_Clear();
}

// Names a module that is seen for the first time below `parent`. Python errors are cleared: a name is not
// worth an exception.
ModuleScope name_module(void* parent, PyObject* module) {
  ModuleScope result;
  result.scope = parent ? parent : opdump_torch_root();
  result.reference = Ref(PyWeakref_NewRef(module, nullptr));
  if (parent) {
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      const Ref path(PyObject_CallFunctionObjArgs(package().find_path, frame->module, module, nullptr));
      if (path && path.get() != Py_None) {
        if (const char* text = PyUnicode_AsUTF8(path.get()))
          result.scope = opdump_torch_descend(frame->scope, text);
        PyErr_Clear();
        return result;
      }
    }
    result.scope = opdump_torch_descend(parent, Py_TYPE(module)->tp_name);
  } else {
    const Ref named(PyObject_CallFunctionObjArgs(package().name_root, module, nullptr));
    const char* text = nullptr;
    if (named && PyArg_ParseTuple(named.get(), "si", &text, &result.rank)) {
      result.is_model = !*text;
      result.scope = opdump_torch_descend(result.scope, text);
    }
  }
  PyErr_Clear();
  return result;
}

const ModuleScope& scope_of(PyObject* module) {
  void* parent = frames.empty() ? nullptr : opdump_torch_module_scope();
  ModuleScope& known = module_scopes()[{parent, module}];
  if (!known.scope || !known.reference || !refers_to(known.reference, module))
    flag_scope((known = name_module(parent, module)).scope, module);
  return known;
}

// A module that no other module called is called.
void enter_outermost(void* root, const ModuleScope& known, PyObject* module) {
  if (counted.recording != root) {
    counted = {};
    counted.recording = root;
  }
  if (known.rank > counted.rank) counted.modules.clear();
  counted.rank = std::max(counted.rank, known.rank);
  if (known.rank < counted.rank) return opdump_torch_enter_call(0, 0, 0);
  if (counted.step != opdump_torch_current_step()) counted.modules.clear();
  const Ref training(PyObject_GetAttrString(module, "training"));
  PyErr_Clear();
  opdump_torch_enter_call(1, counted.has_called(module), training.get() == Py_True);
  if (counted.step != opdump_torch_current_step()) counted.modules.clear();  // the call began a step
  counted.step = opdump_torch_current_step();
  counted.modules[module] = Ref(PyWeakref_NewRef(module, nullptr));
  PyErr_Clear();
}

// Calls before(*args), function(*args, **kwargs), after(what `before` returned): not in Python, because torch
// names the innermost Python line in its warnings, and it should be the program's.
PyObject* call_around(PyObject* self, PyObject* args, PyObject* kwargs) {
  const Ref state(PyObject_Call(PyTuple_GET_ITEM(self, 1), args, nullptr));
  if (!state) return nullptr;
  Ref result(PyObject_Call(PyTuple_GET_ITEM(self, 0), args, kwargs));
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const Ref done(PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(self, 2), state.get(), nullptr));
  if (!type && !done) return nullptr;
  PyErr_Restore(type, value, trace);
  return type ? nullptr : Py_NewRef(result.get());
}

}  // namespace

// Before and after every call of a module, by the function that takes the place of torch.nn.Module.__call__.
// True if the call is one of a model, in a recorded step: its tensors want names.
PyObject* enter_module(PyObject*, PyObject* module) {
  void* scope = nullptr;
  bool wants_names = false;
  ModuleCall call;
  run_guarded([&] {
    void* const root = opdump_torch_root();
    if (!root) return;
    join_recording(root);
    if (opdump_torch_records_executions()) {
      call.is_execution = is_compiled(module);
      if (call.is_execution) opdump_torch_enter_execution();
      if (!opdump_torch_is_executing()) return;
      wants_names = call.is_execution && scope_of(module).is_model;
    } else if (calls.empty()) {
      opdump_torch_join_thread();
      const ModuleScope& known = scope_of(module);
      wants_names = known.is_model;
      enter_outermost(root, known, module);
    }
    if (opdump_torch_active()) scope = scope_of(module).scope;
  });
  call.has_scope = scope != nullptr;
  run_guarded([&] {
    calls.push_back(call);
    if (!scope) return;
    frames.push_back({module, scope});
    opdump_torch_push_scope(scope);
  });
  return PyBool_FromLong(wants_names && scope);
}

PyObject* leave_module(PyObject*, PyObject*) {
  if (calls.empty()) Py_RETURN_NONE;
  const ModuleCall call = calls.back();
  calls.pop_back();
  if (call.has_scope) {
    opdump_torch_pop();
    if (!frames.empty()) frames.pop_back();
  }
  if (call.is_execution) opdump_torch_leave_execution();
  if (calls.empty()) opdump_torch_leave_call();
  Py_RETURN_NONE;
}

PyObject* around(PyObject*, PyObject* args) {
  static PyMethodDef method = {"run_backward", as_function(call_around), METH_VARARGS | METH_KEYWORDS,
                               nullptr};
  PyObject *function = nullptr, *before = nullptr, *after = nullptr;
  if (!PyArg_ParseTuple(args, "OOO", &function, &before, &after)) return nullptr;
  const Ref self(PyTuple_Pack(3, function, before, after));
  return self ? PyCFunction_New(&method, self.get()) : nullptr;
}

PyObject* note_compiled(PyObject*, PyObject* module) {
  Ref reference(PyWeakref_NewRef(module, nullptr));
  if (!reference) return nullptr;
  compiled()[module] = std::move(reference);
  Py_RETURN_NONE;
}

// A module that has a name already is flagged under it; any other gets its flag with its name.
PyObject* flag_module(PyObject*, PyObject* module) {
  for (const auto& [key, known] : module_scopes())
    if (key.module == module && refers_to(known.reference, module)) flag_scope(known.scope, module);
  Py_RETURN_NONE;
}

void clear_module_scopes() { module_scopes().clear(); }

}  // namespace opdump::torch_adapter
