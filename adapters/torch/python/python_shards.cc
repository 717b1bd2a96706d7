// Asks a DTensor which part of it this process has.
#include "python/python_module.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>

namespace opdump::torch_adapter {
namespace {

// False if it is no tuple of numbers, or too long.
bool copy_numbers(PyObject* tuple, std::int64_t (&numbers)[8]) {
  if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) > static_cast<Py_ssize_t>(std::size(numbers)))
    return false;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); ++i)
    numbers[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
  return !PyErr_Occurred();
}

bool copy_description(PyObject* description, opdump_torch_shard& shard) {
  PyObject *tensor = nullptr, *seen = nullptr, *mesh = nullptr, *place = nullptr;
  const char* placements = nullptr;
  if (!PyArg_ParseTuple(description, "OOOOs", &tensor, &seen, &mesh, &place, &placements)) return false;
  shard.tensors[0] = PyLong_AsVoidPtr(tensor);
  shard.tensors[1] = PyLong_AsVoidPtr(seen);
  if (PyErr_Occurred() || !copy_numbers(mesh, shard.mesh) || !copy_numbers(place, shard.place)) return false;
  shard.rank = static_cast<std::uint32_t>(PyTuple_Size(mesh));
  const int length = std::snprintf(shard.placements, sizeof shard.placements, "%s", placements);
  return PyTuple_Size(place) == PyTuple_Size(mesh) && length < static_cast<int>(sizeof shard.placements);
}

}  // namespace

int describe_shard(void* tensor, opdump_torch_shard* shard) {
  return with_gil([&] {
    auto* const object = static_cast<PyObject*>(opdump_torch_python_object(tensor));
    if (!object) return 0;
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);  // the operator may have failed
    int is_known = 0;
    {
      const Ref description(PyObject_CallFunctionObjArgs(package().describe_shard, object, nullptr));
      is_known = description && description.get() != Py_None && copy_description(description.get(), *shard);
      PyErr_Clear();
    }
    PyErr_Restore(type, value, trace);
    return is_known;
  });
}

}  // namespace opdump::torch_adapter
