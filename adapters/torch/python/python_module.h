// What the files of the Python module share. Everything here uses the public C API of CPython and works
// from 3.9 on. The GIL guards it all but thread-locals.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <exception>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bridge.h"

#if PY_VERSION_HEX < 0x030A0000
inline PyObject* Py_NewRef(PyObject* object) {
  Py_INCREF(object);
  return object;
}
#endif

namespace opdump::torch_adapter {

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

// What the package gave to setup(); owned for ever.
struct Package {
  PyObject* find_path = nullptr;  // (ancestor, module) -> "features-Sequential/6-Conv2d" or None
  // (module) -> ("", 2) for the model, ("CrossEntropyLoss", 0) for others: the name, and how much of a model
  // it is
  PyObject* name_root = nullptr;
  PyObject* steps_optimizer = nullptr;  // () -> whether the code that runs mentions an optimizer's step()
  PyObject* start_in_child = nullptr;   // () -> None
  PyObject* find_flag = nullptr;        // (module) -> what set_dump() said of it, or None
  // (tensor) -> (address, address, mesh, place, placements) of a part, see opdump_torch_shard; or None
  PyObject* describe_shard = nullptr;
  std::vector<std::string> library_prefixes;  // directories whose lines are not the user's
  std::string working_directory;
  std::unordered_map<std::string, std::string>
      cells;  // of a notebook: "In [3]", by what Python takes for their file
};
Package& package();

// ---- python_modules.cc: which module calls which. Functions of the Python module, described in its table.
PyObject* enter_module(PyObject*, PyObject* module);
PyObject* leave_module(PyObject*, PyObject*);
PyObject* around(PyObject*, PyObject* args);
PyObject* note_compiled(PyObject*, PyObject* module);
PyObject* flag_module(PyObject*, PyObject* module);
// A recording begins: the names that modules had belong to none.
void clear_module_scopes();

// ---- python_frames.cc: which line of the user's code runs.
const opdump_torch_bridge& python_bridge();

// ---- python_shards.cc: which part of a tensor a process has.
int describe_shard(void* tensor, opdump_torch_shard* shard);

bool is_finalizing();
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

// What fails in here is a loss, and nothing that a caller should see.
template <typename F>
void run_guarded(F&& body) {
  try {
    body();
  } catch (const std::exception& e) {
    opdump_torch_report_unseen("a call of a module", e.what());
  }
}

template <typename F>
constexpr PyCFunction as_function(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

}  // namespace opdump::torch_adapter
