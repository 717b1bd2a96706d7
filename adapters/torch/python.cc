// The Python half: which module calls which, which line of the user's code runs, and the functions of the
// package. Everything here uses the public C API of CPython and works from 3.9 on.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bridge.h"

namespace {

// An owned reference.
class Ref {
 public:
  explicit Ref(PyObject* object = nullptr) : object_(object) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_;
};

// What the package gave to setup(); owned for ever. Guarded by the GIL, as is everything below but
// thread-locals.
struct Package {
  PyObject* find_path = nullptr;  // (ancestor, module) -> "features-Sequential/6-Conv2d" or None
  // (module) -> ("", 2) for the model, ("CrossEntropyLoss", 0) for others: the name, and how much of a model
  // it is
  PyObject* name_root = nullptr;
  PyObject* steps_optimizer = nullptr;  // () -> whether the code that runs mentions an optimizer's step()
  PyObject* start_in_child = nullptr;   // () -> None
  PyObject* find_flag = nullptr;        // (module) -> what set_dump() said of it, or None
  std::vector<std::string> library_prefixes;  // directories whose lines are not the user's
  std::string working_directory;
};
Package& package() {
  static auto* p = new Package;  // never destroyed: calls come until the very end
  return *p;
}

// ------------------------------------------------------------------ modules

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

// Modules whose calls are executions of a compiled model, with weak references to them.
std::unordered_map<PyObject*, Ref>& compiled() {
  static auto* modules = new std::unordered_map<PyObject*, Ref>;
  return *modules;
}

bool is_compiled(PyObject* module) {
  const auto found = compiled().find(module);
  return found != compiled().end() && PyWeakref_GetObject(found->second.get()) == module;
}

// Of the recording under way: which outermost modules count, and which of these its current step has called.
struct Counted {
  void* recording = nullptr;
  std::int64_t step = -1;
  int rank = -1;
  std::unordered_set<PyObject*> modules;  // addresses only
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

void* descend(void* scope, const char* path) {
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    scope = opdump_torch_child(scope, std::string(rest.substr(0, end)).c_str());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return scope;
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
        if (const char* text = PyUnicode_AsUTF8(path.get())) result.scope = descend(frame->scope, text);
        PyErr_Clear();
        return result;
      }
    }
    result.scope = opdump_torch_child(parent, Py_TYPE(module)->tp_name);
  } else {
    const Ref named(PyObject_CallFunctionObjArgs(package().name_root, module, nullptr));
    const char* text = nullptr;
    if (named && PyArg_ParseTuple(named.get(), "si", &text, &result.rank)) {
      result.is_model = !*text;
      result.scope = descend(result.scope, text);
    }
  }
  PyErr_Clear();
  return result;
}

const ModuleScope& scope_of(PyObject* module) {
  void* parent = frames.empty() ? nullptr : opdump_torch_module_scope();
  ModuleScope& known = module_scopes()[{parent, module}];
  if (!known.scope || !known.reference || PyWeakref_GetObject(known.reference.get()) != module)
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
  opdump_torch_enter_call(1, counted.modules.contains(module), training.get() == Py_True);
  if (counted.step != opdump_torch_current_step()) counted.modules.clear();  // the call began a step
  counted.step = opdump_torch_current_step();
  counted.modules.insert(module);
}

// What fails in here is a loss, and nothing that a caller should see.
template <typename F>
void run_guarded(F&& body) {
  try {
    body();
  } catch (const std::exception& e) {
    opdump_torch_report_unseen("a call of a module", e.what());
  }
}

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

PyObject* enter_backward(PyObject*, PyObject*) {
  return opdump_torch_enter_backward_call(), Py_NewRef(Py_None);
}
PyObject* leave_backward(PyObject*, PyObject*) {
  return opdump_torch_leave_backward_call(), Py_NewRef(Py_None);
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

PyObject* around(PyObject*, PyObject* args) {
  static PyMethodDef method = {"run_backward",
                               reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_around)),
                               METH_VARARGS | METH_KEYWORDS, nullptr};
  PyObject *function = nullptr, *before = nullptr, *after = nullptr;
  if (!PyArg_ParseTuple(args, "OOO", &function, &before, &after)) return nullptr;
  const Ref self(PyTuple_Pack(3, function, before, after));
  return self ? PyCFunction_New(&method, self.get()) : nullptr;
}

PyObject* hide(PyObject*, PyObject*) { return opdump_torch_hide(), Py_NewRef(Py_None); }
PyObject* unhide(PyObject*, PyObject*) { return opdump_torch_unhide(), Py_NewRef(Py_None); }

// ------------------------------------------------------------------ source lines

// A function of the program; without a file one of torch or the standard library.
struct Function {
  std::string file, name;
  bool is_own = false;  // not of an installed package, nor made by torch
};

std::string text_of(PyCodeObject* code, const char* attribute) {
  const Ref value(PyObject_GetAttrString(reinterpret_cast<PyObject*>(code), attribute));
  const char* text = value ? PyUnicode_AsUTF8(value.get()) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "";
}

Function describe_function(PyCodeObject* code) {
  Function function;
  std::string file = text_of(code, "co_filename");
  if (file.starts_with("<frozen")) return function;
  for (const std::string& prefix : package().library_prefixes)
    if (file.starts_with(prefix)) return function;
  function.is_own = file.find("/site-packages/") == std::string::npos &&
                    file.find("/dist-packages/") == std::string::npos && !file.starts_with("<eval_with_key>");
  if (file.starts_with(package().working_directory)) file.erase(0, package().working_directory.size());
  function.file = std::move(file);
  function.name = text_of(code, "co_qualname");  // "Net.forward", from Python 3.11 on
  if (function.name.empty()) function.name = text_of(code, "co_name");
  return function;
}

const Function& function_of(PyCodeObject* code) {
  static auto* known = new std::unordered_map<PyCodeObject*, Function>;
  const auto found = known->find(code);
  if (found != known->end()) return found->second;
  Py_INCREF(code);  // so that its address stays its own
  return known->emplace(code, describe_function(code)).first->second;
}

using AddFrame = int(void* user, const char* file, int line, const char* function, int is_own);

void visit_frames_with_gil(AddFrame* add, void* user) {
  Ref frame(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  while (frame) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.get());
    const Ref code(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
    const Function& function = function_of(reinterpret_cast<PyCodeObject*>(code.get()));
    if (!function.file.empty() &&
        !add(user, function.file.c_str(), PyFrame_GetLineNumber(f), function.name.c_str(), function.is_own))
      return;
    frame = Ref(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
}

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

int last_instruction(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return frame->f_lasti;
#endif
}

// The instructions that the innermost frames of the user are at.
std::uint64_t find_place_with_gil() {
  constexpr int kMaxFrames = 64;
  std::uint64_t place = 0;
  Ref frame(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  for (int i = 0; frame && i < kMaxFrames; ++i) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.get());
    const Ref code(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
    if (!function_of(reinterpret_cast<PyCodeObject*>(code.get())).file.empty())
      place = (place ^ (reinterpret_cast<std::uintptr_t>(code.get()) +
                        static_cast<std::uint64_t>(last_instruction(f)))) *
              0x9E3779B97F4A7C15u;
    frame = Ref(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  return place;
}

// `body` with the GIL, or nothing. A thread that Python does not know runs no Python line, and must not wait
// for the GIL.
template <typename F>
auto with_gil(F&& body) -> decltype(body()) {
  if (!PyGILState_GetThisThreadState() || is_finalizing()) return {};
  const PyGILState_STATE state = PyGILState_Ensure();
  const auto result = body();
  PyGILState_Release(state);
  return result;
}

void visit_frames(AddFrame* add, void* user) {
  with_gil([&] { return visit_frames_with_gil(add, user), true; });
}

std::uint64_t find_place() { return with_gil(find_place_with_gil); }

int steps_optimizer() {
  return with_gil([] {
    const Ref answer(PyObject_CallNoArgs(package().steps_optimizer));
    PyErr_Clear();
    return answer.get() == Py_True ? 1 : 0;
  });
}

void start_in_child() {
  if (!package().start_in_child || !PyGILState_GetThisThreadState() || is_finalizing()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  const Ref done(PyObject_CallNoArgs(package().start_in_child));
  if (!done) PyErr_WriteUnraisable(package().start_in_child);
  PyGILState_Release(state);
}

const opdump_torch_bridge kBridge{visit_frames, find_place, steps_optimizer, start_in_child};

// ------------------------------------------------------------------ functions of the module

PyObject* setup(PyObject*, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"find_path", "name_root",        "steps_optimizer",   "start_in_child",
                                "find_flag", "library_prefixes", "working_directory", nullptr};
  Package& p = package();
  PyObject* prefixes = nullptr;
  const char* working_directory = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOOOO!s", const_cast<char**>(names), &p.find_path,
                                   &p.name_root, &p.steps_optimizer, &p.start_in_child, &p.find_flag,
                                   &PyList_Type, &prefixes, &working_directory))
    return nullptr;
  for (PyObject* object : {p.find_path, p.name_root, p.steps_optimizer, p.start_in_child, p.find_flag})
    Py_INCREF(object);
  for (Py_ssize_t i = 0; i < PyList_Size(prefixes); ++i) {
    const char* prefix = PyUnicode_AsUTF8(PyList_GetItem(prefixes, i));
    if (!prefix) return nullptr;
    p.library_prefixes.emplace_back(prefix);
  }
  p.working_directory = working_directory;
  opdump_torch_set_bridge(&kBridge);
  Py_RETURN_NONE;
}

PyObject* raise(opdump_status status) {
  PyErr_SetString(status == OPDUMP_ERROR_CONFIG   ? PyExc_ValueError
                  : status == OPDUMP_ERROR_EXISTS ? PyExc_FileExistsError
                                                  : PyExc_RuntimeError,
                  opdump_last_error());
  return nullptr;
}

// The number of opdump_existing; a Python error, and nothing, for a word that is none.
std::optional<std::uint32_t> parse_existing(const char* word) {
  if (!word) return OPDUMP_EXISTING_DEFAULT;
  const std::string_view text = word;
  if (text == "refuse") return OPDUMP_EXISTING_REFUSE;
  if (text == "replace") return OPDUMP_EXISTING_REPLACE;
  if (text == "append") return OPDUMP_EXISTING_APPEND;
  if (text == "original") return OPDUMP_EXISTING_ORIGINAL;  // of the front ends that stand for one
  PyErr_Format(PyExc_ValueError, "existing is '%s'; expected 'refuse', 'replace' or 'append'", word);
  return std::nullopt;
}

PyObject* start(PyObject*, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"config", "text",   "dialect",    "model_name", "process",
                                "mode",   "strict", "first_step", "existing",   nullptr};
  opdump_options options{};
  const char *model_name = nullptr, *existing = nullptr;
  options.size = sizeof options;
  int strict = 0;
  long long first_step = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "z|zzzzzpLz", const_cast<char**>(names),
                                   &options.config_path, &options.config_text, &options.dialect, &model_name,
                                   &options.process, &options.mode, &strict, &first_step, &existing))
    return nullptr;
  const auto on_existing = parse_existing(existing);
  if (!on_existing) return nullptr;
  options.existing = *on_existing;
  options.strict = strict;
  const opdump_status status = opdump_torch_start(&options, first_step);
  if (status != OPDUMP_OK) return raise(status);
  opdump_torch_name_model(model_name);
  module_scopes().clear();
  Py_RETURN_NONE;
}

PyObject* record_single_operators(PyObject*, PyObject* on) {
  const int is_on = PyObject_IsTrue(on);
  if (is_on < 0) return nullptr;
  opdump_torch_record_single_operators(is_on);
  Py_RETURN_NONE;
}

PyObject* stop(PyObject*, PyObject*) {
  opdump_status status = OPDUMP_OK;
  Py_BEGIN_ALLOW_THREADS  // a thread inside an operator may need the GIL to leave it
      status = opdump_torch_stop();
  Py_END_ALLOW_THREADS return PyBool_FromLong(status == OPDUMP_OK);
}

PyObject* record_executions(PyObject*, PyObject* on) {
  const int is_on = PyObject_IsTrue(on);
  if (is_on < 0) return nullptr;
  opdump_torch_record_executions(is_on);
  Py_RETURN_NONE;
}

PyObject* note_compiled(PyObject*, PyObject* module) {
  Ref reference(PyWeakref_NewRef(module, nullptr));
  if (!reference) return nullptr;
  compiled()[module] = std::move(reference);
  Py_RETURN_NONE;
}

PyObject* enter_execution(PyObject*, PyObject*) { return opdump_torch_enter_execution(), Py_NewRef(Py_None); }
PyObject* leave_execution(PyObject*, PyObject*) { return opdump_torch_leave_execution(), Py_NewRef(Py_None); }

PyObject* pause(PyObject*, PyObject*) { return opdump_torch_pause(), Py_NewRef(Py_None); }
PyObject* resume(PyObject*, PyObject*) { return opdump_torch_resume(), Py_NewRef(Py_None); }
PyObject* rest(PyObject*, PyObject*) {
  Py_BEGIN_ALLOW_THREADS opdump_torch_rest();
  Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

PyObject* step(PyObject*, PyObject*) {
  Py_INCREF(Py_None);
  opdump_torch_step();
  return Py_None;
}
PyObject* current_step(PyObject*, PyObject*) { return PyLong_FromLongLong(opdump_torch_current_step()); }
PyObject* active(PyObject*, PyObject*) { return PyBool_FromLong(opdump_torch_active()); }
PyObject* join_thread(PyObject*, PyObject*) { return opdump_torch_join_thread(), Py_NewRef(Py_None); }
PyObject* cut_short(PyObject*, PyObject*) { return opdump_torch_cut_short(), Py_NewRef(Py_None); }

PyObject* keeps_failures(PyObject*, PyObject*) { return PyBool_FromLong(opdump_torch_keeps_failures()); }
PyObject* failures(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(opdump_torch_failures()); }

PyObject* settle(PyObject*, PyObject* storage) {
  void* address = PyLong_AsVoidPtr(storage);
  if (!address && PyErr_Occurred()) return nullptr;
  opdump_torch_settle(address);
  Py_RETURN_NONE;
}

PyObject* written(PyObject*, PyObject* storage) {
  void* address = PyLong_AsVoidPtr(storage);
  if (!address && PyErr_Occurred()) return nullptr;
  opdump_torch_written(address);
  Py_RETURN_NONE;
}

PyObject* name_tensor(PyObject*, PyObject* args) {
  PyObject* storage = nullptr;
  const char* name = nullptr;
  int is_weight = 0;
  if (!PyArg_ParseTuple(args, "Osp", &storage, &name, &is_weight)) return nullptr;
  void* address = PyLong_AsVoidPtr(storage);
  if (!address && PyErr_Occurred()) return nullptr;
  opdump_torch_name_tensor(address, name, is_weight);
  Py_RETURN_NONE;
}

// A module that has a name already is flagged under it; any other gets its flag with its name.
PyObject* flag_module(PyObject*, PyObject* module) {
  for (const auto& [key, known] : module_scopes())
    if (key.module == module && PyWeakref_GetObject(known.reference.get()) == module)
      flag_scope(known.scope, module);
  Py_RETURN_NONE;
}

PyObject* flag_name(PyObject*, PyObject* args) {
  const char* name = nullptr;
  int enabled = 0;
  if (!PyArg_ParseTuple(args, "sp", &name, &enabled)) return nullptr;
  opdump_torch_set_dump(name, enabled);
  Py_RETURN_NONE;
}

PyObject* mark(PyObject*, PyObject* args) {
  const char* name = nullptr;
  if (!PyArg_ParseTuple(args, "z", &name)) return nullptr;
  opdump_torch_mark(name);
  Py_RETURN_NONE;
}

PyObject* report_unseen(PyObject*, PyObject* args) {
  const char *what = nullptr, *reason = nullptr;
  if (!PyArg_ParseTuple(args, "ss", &what, &reason)) return nullptr;
  opdump_torch_report_unseen(what, reason);
  Py_RETURN_NONE;
}

template <typename F>
constexpr PyCFunction as_function(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

PyMethodDef methods[] = {
    {"setup", as_function(setup), METH_VARARGS | METH_KEYWORDS, "Passes the objects that the hooks need."},
    {"enter_module", as_function(enter_module), METH_O,
     "A module is called on this thread. True if its tensors need names."},
    {"leave_module", as_function(leave_module), METH_NOARGS,
     "The call has ended, with or without an exception."},
    {"enter_backward", as_function(enter_backward), METH_NOARGS, "A backward pass begins on this thread."},
    {"leave_backward", as_function(leave_backward), METH_NOARGS,
     "It has ended, with or without an exception."},
    {"around", as_function(around), METH_VARARGS,
     "A function that calls another one, with one function before and one after it."},
    {"hide", as_function(hide), METH_NOARGS,
     "Hides the work of this thread from the program's modes, until unhide()."},
    {"unhide", as_function(unhide), METH_NOARGS, "Ends the last hide()."},
    {"start", as_function(start), METH_VARARGS | METH_KEYWORDS,
     "Starts recording. Raises ValueError if the configuration is wrong."},
    {"record_single_operators", as_function(record_single_operators), METH_O,
     "Sets whether operators of later recordings belong to no model."},
    {"stop", as_function(stop), METH_NOARGS, "Stops recording. False if something was lost."},
    {"record_executions", as_function(record_executions), METH_O,
     "Sets whether later recordings contain executions of compiled models only."},
    {"note_compiled", as_function(note_compiled), METH_O, "Calls of this module are executions of a model."},
    {"enter_execution", as_function(enter_execution), METH_NOARGS, "A compiled function is called."},
    {"leave_execution", as_function(leave_execution), METH_NOARGS,
     "The call has ended, with or without an exception."},
    {"pause", as_function(pause), METH_NOARGS, "Stops recording on this thread."},
    {"resume", as_function(resume), METH_NOARGS, "Ends the last pause."},
    {"rest", as_function(rest), METH_NOARGS,
     "Writes everything to disk and records this in the status: the process may be ended from outside."},
    {"step", as_function(step), METH_NOARGS, "Ends the current step."},
    {"current_step", as_function(current_step), METH_NOARGS, "Number of the current step."},
    {"active", as_function(active), METH_NOARGS, "Whether the current step is recorded."},
    {"keeps_failures", as_function(keeps_failures), METH_NOARGS,
     "Whether the recording saves operators that fail."},
    {"failures", as_function(failures), METH_NOARGS,
     "The number of failed operators of this thread that it has saved."},
    {"join_thread", as_function(join_thread), METH_NOARGS, "Starts recording on the calling thread."},
    {"cut_short", as_function(cut_short), METH_NOARGS,
     "The program was stopped: marks the current step as cut short before recording stops."},
    {"mark", as_function(mark), METH_VARARGS,
     "Sets a name for the operators that this thread runs from now on, for configurations; None resets it."},
    {"report_unseen", as_function(report_unseen), METH_VARARGS,
     "Records that something could not be observed, and why."},
    {"name_tensor", as_function(name_tensor), METH_VARARGS,
     "Sets the program's name of the tensor in a storage, given by address."},
    {"flag_module", as_function(flag_module), METH_O, "set_dump() was called for a module."},
    {"flag_name", as_function(flag_name), METH_VARARGS, "set_dump() was called for a name."},
    {"settle", as_function(settle), METH_O, "Waits until a storage, given by address, is not being read."},
    {"written", as_function(written), METH_O,
     "A storage, given by address, was written to without an operator."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition{
    PyModuleDef_HEAD_INIT, "_torch", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__torch() { return PyModule_Create(&definition); }
