// Which line of the user's code runs, for the recorder.
#include "python/python_module.h"

#include <frameobject.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

namespace opdump::torch_adapter {
namespace {

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
  if (const auto cell = package().cells.find(file); cell != package().cells.end()) file = cell->second;
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

int last_instruction(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return frame->f_lasti;
#endif
}

// The instructions that the innermost frames of the user are at, or the innermost one.
std::uint64_t find_place_with_gil(bool with_callers) {
  constexpr int kMaxFrames = 64;
  std::uint64_t place = 0;
  Ref frame(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  for (int i = 0; frame && i < kMaxFrames; ++i) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.get());
    const Ref code(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
    if (!function_of(reinterpret_cast<PyCodeObject*>(code.get())).file.empty()) {
      place = (place ^ (reinterpret_cast<std::uintptr_t>(code.get()) +
                        static_cast<std::uint64_t>(last_instruction(f)))) *
              0x9E3779B97F4A7C15u;
      if (!with_callers) break;
    }
    frame = Ref(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  return place;
}

void visit_frames(AddFrame* add, void* user) {
  with_gil([&] { return visit_frames_with_gil(add, user), true; });
}

std::uint64_t find_place(int with_callers) {
  return with_gil([&] { return find_place_with_gil(with_callers != 0); });
}

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

}  // namespace

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

const opdump_torch_bridge& python_bridge() {
  static const opdump_torch_bridge bridge{visit_frames, find_place, steps_optimizer, start_in_child,
                                          describe_shard};
  return bridge;
}

}  // namespace opdump::torch_adapter
