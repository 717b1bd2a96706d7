// The extension module opdump._core: the reading half of the library, seen from Python. No logic lives here:
// each function checks, calls one function of src/, translates. It links the core statically and hides it, so
// that it shares a process with the recorder (opdump._torch.recorder, libopdump.so) and no symbol with it.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "compare/compare.h"
#include "dump/read/dump_set.h"

namespace opdump::bindings {

namespace py = pybind11;

// Raises opdump.Error, or the subclass that suits the code, with the error's text.
[[noreturn]] void raise(const Error& error);

// The value of a result, or its error as an exception.
template <typename T>
T unwrap(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}

// An object of Python that is part of a dump, and keeps what it needs of it.
struct Operator {
  std::shared_ptr<const dump::DumpSet> dump;
  std::shared_ptr<const dump::OperatorRun> run;
};

struct Slot {
  std::shared_ptr<const dump::DumpSet> dump;
  std::shared_ptr<const dump::OperatorRun> run;
  const dump::Slot* slot = nullptr;  // of `run`
};

// The elements of a slot as a NumPy array that cannot be written to. It is the mapped file itself where NumPy
// has the dtype, and a copy otherwise: float32 for bfloat16 and the smaller floats, int8 or uint8 for packed
// integers, complex64 for complex32. The file stays mapped as long as an array of it lives.
py::object read_array(const dump::Slot& slot);

// Names in a dump of another tool may be any bytes.
py::object to_text(std::string_view bytes);

// Numbers of statistic.csv as int or float, all else as text.
py::object to_number(const std::string& text);

// (2, 3), or None.
py::object to_tuple(const std::optional<model::Shape>& shape);

// The name of a dtype, or None where it is not known.
py::object dtype_name(model::DType dtype);

void define_dumps(py::module_& module);
void define_comparisons(py::module_& module);

}  // namespace opdump::bindings
