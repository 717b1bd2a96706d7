// The functions of the Python module.
#include "python/python_module.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace opdump::torch_adapter {

Package& package() {
  static auto* p = new Package;  // never destroyed: calls come until the very end
  return *p;
}

namespace {

PyObject* name_cell(PyObject*, PyObject* args) {
  const char *file = nullptr, *name = nullptr;
  if (!PyArg_ParseTuple(args, "ss", &file, &name)) return nullptr;
  package().cells[file] = name;
  Py_RETURN_NONE;
}

PyObject* enter_backward(PyObject*, PyObject*) {
  return opdump_torch_enter_backward_call(), Py_NewRef(Py_None);
}
PyObject* leave_backward(PyObject*, PyObject*) {
  return opdump_torch_leave_backward_call(), Py_NewRef(Py_None);
}

PyObject* hide(PyObject*, PyObject*) { return opdump_torch_hide(), Py_NewRef(Py_None); }
PyObject* unhide(PyObject*, PyObject*) { return opdump_torch_unhide(), Py_NewRef(Py_None); }

PyObject* setup(PyObject*, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"find_path",        "name_root",         "steps_optimizer",
                                "start_in_child",   "find_flag",         "describe_shard",
                                "library_prefixes", "working_directory", nullptr};
  Package& p = package();
  PyObject* prefixes = nullptr;
  const char* working_directory = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOOOOO!s", const_cast<char**>(names), &p.find_path,
                                   &p.name_root, &p.steps_optimizer, &p.start_in_child, &p.find_flag,
                                   &p.describe_shard, &PyList_Type, &prefixes, &working_directory))
    return nullptr;
  for (PyObject* object :
       {p.find_path, p.name_root, p.steps_optimizer, p.start_in_child, p.find_flag, p.describe_shard})
    Py_INCREF(object);
  for (Py_ssize_t i = 0; i < PyList_Size(prefixes); ++i) {
    const char* prefix = PyUnicode_AsUTF8(PyList_GetItem(prefixes, i));
    if (!prefix) return nullptr;
    p.library_prefixes.emplace_back(prefix);
  }
  p.working_directory = working_directory;
  opdump_torch_set_bridge(&python_bridge());
  Py_RETURN_NONE;
}

PyObject* raise(opdump_status status) {
  PyErr_SetString(status == OPDUMP_ERROR_CONFIG   ? PyExc_ValueError
                  : status == OPDUMP_ERROR_EXISTS ? PyExc_FileExistsError
                  : status == OPDUMP_ERROR_IO     ? PyExc_OSError
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
  if (PyObject* const path = PySys_GetObject("executable"); path && PyUnicode_Check(path))
    if (const char* const text = PyUnicode_AsUTF8(path)) opdump_torch_set_python(text);
  PyErr_Clear();  // it is no text
  const opdump_status status = opdump_torch_start(&options, first_step);
  if (status != OPDUMP_OK) return raise(status);
  opdump_torch_name_model(model_name);
  clear_module_scopes();
  Py_RETURN_NONE;
}

PyObject* make_config(PyObject*, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"output", "steps",   "ops",        "module",
                                "budget", "tensors", "statistics", nullptr};
  opdump_request request{};
  request.size = sizeof request;
  int tensors = 0, statistics = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "szzzzpp", const_cast<char**>(names), &request.output,
                                   &request.steps, &request.ops, &request.module, &request.budget, &tensors,
                                   &statistics))
    return nullptr;
  request.content = (tensors ? OPDUMP_CONTENT_TENSORS : 0) | (statistics ? OPDUMP_CONTENT_STATISTICS : 0);
  const char* text = nullptr;
  const opdump_status status = opdump_make_config(&request, &text);
  return status == OPDUMP_OK ? PyUnicode_FromString(text) : raise(status);
}

PyObject* record_single_operators(PyObject*, PyObject* on) {
  const int is_on = PyObject_IsTrue(on);
  if (is_on < 0) return nullptr;
  opdump_torch_record_single_operators(is_on);
  Py_RETURN_NONE;
}

PyObject* keep_stderr(PyObject*, PyObject* number) {
  const long original = PyLong_AsLong(number);
  if (original == -1 && PyErr_Occurred()) return nullptr;
  opdump_torch_keep_stderr(static_cast<int>(original));
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

PyObject* enter_execution(PyObject*, PyObject*) { return opdump_torch_enter_execution(), Py_NewRef(Py_None); }
PyObject* leave_execution(PyObject*, PyObject*) { return opdump_torch_leave_execution(), Py_NewRef(Py_None); }

PyObject* pause(PyObject*, PyObject*) { return opdump_torch_pause(), Py_NewRef(Py_None); }
PyObject* resume(PyObject*, PyObject*) { return opdump_torch_resume(), Py_NewRef(Py_None); }
PyObject* enter_generated(PyObject*, PyObject*) { return opdump_torch_enter_generated(), Py_NewRef(Py_None); }
PyObject* leave_generated(PyObject*, PyObject*) { return opdump_torch_leave_generated(), Py_NewRef(Py_None); }
PyObject* rest(PyObject*, PyObject*) {
  Py_BEGIN_ALLOW_THREADS opdump_torch_rest();
  Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

PyObject* abandon(PyObject*, PyObject*) {
  Py_BEGIN_ALLOW_THREADS opdump_torch_abandon();
  Py_END_ALLOW_THREADS Py_RETURN_NONE;
}
PyObject* directory(PyObject*, PyObject*) { return PyUnicode_DecodeFSDefault(opdump_torch_directory()); }
PyObject* await_operator(PyObject*, PyObject*) { return opdump_torch_await_operator(), Py_NewRef(Py_None); }

PyObject* step(PyObject*, PyObject*) {
  Py_INCREF(Py_None);
  opdump_torch_step();
  return Py_None;
}
PyObject* current_step(PyObject*, PyObject*) { return PyLong_FromLongLong(opdump_torch_current_step()); }
PyObject* active(PyObject*, PyObject*) { return PyBool_FromLong(opdump_torch_active()); }
PyObject* join_thread(PyObject*, PyObject*) { return opdump_torch_join_thread(), Py_NewRef(Py_None); }
PyObject* current_scope(PyObject*, PyObject*) { return PyLong_FromVoidPtr(opdump_torch_current_scope()); }
PyObject* lend_thread(PyObject*, PyObject* scope) {
  void* address = PyLong_AsVoidPtr(scope);
  if (!address && PyErr_Occurred()) return nullptr;
  return PyLong_FromLong(opdump_torch_lend_thread(address));
}
PyObject* return_thread(PyObject*, PyObject* was_lent) {
  return opdump_torch_return_thread(PyLong_AsLong(was_lent) != 0 ? 1 : 0), Py_NewRef(Py_None);
}
PyObject* cut_short(PyObject*, PyObject*) { return opdump_torch_cut_short(), Py_NewRef(Py_None); }

PyObject* expect_shards(PyObject*, PyObject*) { return opdump_torch_expect_shards(), Py_NewRef(Py_None); }

PyObject* keeps_failures(PyObject*, PyObject*) { return PyBool_FromLong(opdump_torch_keeps_failures()); }
PyObject* failures(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(opdump_torch_failures()); }

// A function of a storage, which Python gives by its address.
template <void (*of_storage)(void*)>
PyObject* call_with_storage(PyObject*, PyObject* storage) {
  void* address = PyLong_AsVoidPtr(storage);
  if (!address && PyErr_Occurred()) return nullptr;
  of_storage(address);
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

PyObject* module_scope(PyObject*, PyObject*) {
  void* scope = opdump_torch_module_scope();
  return PyLong_FromVoidPtr(scope ? scope : opdump_torch_root());
}

PyObject* enter_node(PyObject*, PyObject* args) {
  PyObject* scope = nullptr;
  const char *path = nullptr, *file = nullptr, *stack = nullptr;
  int line = 0, is_backward = 0;
  if (!PyArg_ParseTuple(args, "Ossisp", &scope, &path, &file, &line, &stack, &is_backward)) return nullptr;
  void* address = PyLong_AsVoidPtr(scope);
  if (!address && PyErr_Occurred()) return nullptr;
  run_guarded([&] { opdump_torch_push_node(address, path, file, line, stack, is_backward); });
  Py_RETURN_NONE;
}

PyObject* leave_node(PyObject*, PyObject*) { return opdump_torch_pop(), Py_NewRef(Py_None); }

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

PyObject* raise_alarm(PyObject*, PyObject* args) {
  const char *kind = nullptr, *text = nullptr;
  if (!PyArg_ParseTuple(args, "ss", &kind, &text)) return nullptr;
  opdump_torch_raise_alarm(kind, text);
  Py_RETURN_NONE;
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
    {"make_config", as_function(make_config), METH_VARARGS | METH_KEYWORDS,
     "The configuration that a few options stand for. Raises ValueError if one is wrong."},
    {"record_single_operators", as_function(record_single_operators), METH_O,
     "Sets whether operators of later recordings belong to no model."},
    {"keep_stderr", as_function(keep_stderr), METH_O, "Lines of ours go to a duplicate of this descriptor."},
    {"stop", as_function(stop), METH_NOARGS, "Stops recording. False if something was lost."},
    {"record_executions", as_function(record_executions), METH_O,
     "Sets whether later recordings contain executions of compiled models only."},
    {"note_compiled", as_function(note_compiled), METH_O, "Calls of this module are executions of a model."},
    {"enter_execution", as_function(enter_execution), METH_NOARGS, "A compiled function is called."},
    {"leave_execution", as_function(leave_execution), METH_NOARGS,
     "The call has ended, with or without an exception."},
    {"pause", as_function(pause), METH_NOARGS, "Stops recording on this thread."},
    {"resume", as_function(resume), METH_NOARGS, "Ends the last pause."},
    {"enter_generated", as_function(enter_generated), METH_NOARGS,
     "Code that a compiler generated begins to run."},
    {"leave_generated", as_function(leave_generated), METH_NOARGS,
     "It has run, with or without an exception."},
    {"rest", as_function(rest), METH_NOARGS,
     "Writes everything to disk and records this in the status: the process may be ended from outside."},
    {"abandon", as_function(abandon), METH_NOARGS,
     "Ends the recording as rest() has left it on the disk: nothing more is written."},
    {"directory", as_function(directory), METH_NOARGS,
     "The folder of the recording under way; empty if there is none."},
    {"await_operator", as_function(await_operator), METH_NOARGS,
     "Calls start_in_child() before the next operator, in this process."},
    {"step", as_function(step), METH_NOARGS, "Ends the current step."},
    {"current_step", as_function(current_step), METH_NOARGS, "Number of the current step."},
    {"active", as_function(active), METH_NOARGS, "Whether the current step is recorded."},
    {"keeps_failures", as_function(keeps_failures), METH_NOARGS,
     "Whether the recording saves operators that fail."},
    {"failures", as_function(failures), METH_NOARGS,
     "The number of failed operators of this thread that it has saved."},
    {"join_thread", as_function(join_thread), METH_NOARGS, "Starts recording on the calling thread."},
    {"current_scope", as_function(current_scope), METH_NOARGS,
     "Where operators of this thread belong; 0: nothing is recorded."},
    {"lend_thread", as_function(lend_thread), METH_O,
     "Records on the calling thread, in a scope; what it returns ends it."},
    {"return_thread", as_function(return_thread), METH_O, "Ends what lend_thread() has started."},
    {"cut_short", as_function(cut_short), METH_NOARGS,
     "The program was stopped: marks the current step as cut short before recording stops."},
    {"raise_alarm", as_function(raise_alarm), METH_VARARGS,
     "A recording that watches the program ends with this step: of a kind, and why."},
    {"expect_shards", as_function(expect_shards), METH_NOARGS,
     "The program has made a mesh of processes: parts of tensors are described from now on."},
    {"mark", as_function(mark), METH_VARARGS,
     "Sets a name for the operators that this thread runs from now on, for configurations; None resets it."},
    {"report_unseen", as_function(report_unseen), METH_VARARGS,
     "Records that something could not be observed, and why."},
    {"name_cell", as_function(name_cell), METH_VARARGS,
     "What stands for a file of a notebook's code: (file, \"In [3]\")."},
    {"name_tensor", as_function(name_tensor), METH_VARARGS,
     "Sets the program's name of the tensor in a storage, given by address."},
    {"module_scope", as_function(module_scope), METH_NOARGS,
     "The scope that this thread is in, for enter_node(); 0 if nothing is recorded."},
    {"enter_node", as_function(enter_node), METH_VARARGS,
     "A node of a traced graph runs on this thread: scope, path below it, file, line, stack, is backward."},
    {"leave_node", as_function(leave_node), METH_NOARGS, "The node has run, with or without an exception."},
    {"flag_module", as_function(flag_module), METH_O, "set_dump() was called for a module."},
    {"flag_name", as_function(flag_name), METH_VARARGS, "set_dump() was called for a name."},
    {"settle", as_function(call_with_storage<opdump_torch_settle>), METH_O,
     "Waits until a storage, given by address, is not being read."},
    {"written", as_function(call_with_storage<opdump_torch_written>), METH_O,
     "A storage, given by address, was written to without an operator."},
    {"allocated", as_function(call_with_storage<opdump_torch_allocated>), METH_O,
     "A storage, given by address, got memory without an operator, and nothing was written there."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition{
    PyModuleDef_HEAD_INIT, "recorder", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace opdump::torch_adapter

PyMODINIT_FUNC PyInit_recorder() { return PyModule_Create(&opdump::torch_adapter::definition); }
