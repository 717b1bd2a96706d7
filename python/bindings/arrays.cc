#include <pybind11/numpy.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "bindings.h"
#include "math/convert.h"

namespace opdump::bindings {
namespace {

py::dtype numpy_dtype(model::DType dtype) {
  return py::dtype(std::string(model::dtype_info(dtype).npy_descr));
}

std::vector<py::ssize_t> dims_of(const model::Shape& shape) {
  return {shape.dims().begin(), shape.dims().end()};
}

// The array over the memory of `tensor`, which it keeps.
py::array wrap(std::shared_ptr<const dump::StoredTensor> tensor) {
  const model::TensorView& view = tensor->view();
  const py::ssize_t element_bytes = model::dtype_info(view.dtype).bits / 8;
  std::vector<py::ssize_t> strides = dims_of(view.strides);
  for (py::ssize_t& stride : strides) stride *= element_bytes;
  const void* data = view.data;
  auto* kept = new std::shared_ptr<const dump::StoredTensor>(std::move(tensor));
  const py::capsule owner(
      kept, [](void* pointer) { delete static_cast<std::shared_ptr<const dump::StoredTensor>*>(pointer); });
  return {numpy_dtype((*kept)->view().dtype), dims_of((*kept)->view().shape), std::move(strides), data,
          owner};
}

// The elements in a dtype that NumPy has.
py::array widen(const dump::StoredTensor& tensor) {
  const model::TensorView& view = tensor.view();
  const model::DType dtype = math::array_dtype(view.dtype);
  if (dtype == model::DType::undefined || !view.is_contiguous())
    raise(Error(Code::unsupported, "elements of dtype " + std::string(model::dtype_info(view.dtype).name)));
  py::array array(numpy_dtype(dtype), dims_of(view.shape));
  math::convert_to_array(view.dtype, view.data, static_cast<std::byte*>(array.mutable_data()),
                         view.element_count());
  return array;
}

bool has_numpy_dtype(model::DType dtype) { return !model::dtype_info(dtype).npy_descr.empty(); }

}  // namespace

py::object read_array(const dump::Slot& slot) {
  if (slot.file.empty())
    raise(Error(Code::not_found, slot.undumped_reason.empty() ? "the dump has no tensor of this slot"
                                                              : "no tensor: " + slot.undumped_reason));
  auto tensor = std::make_shared<const dump::StoredTensor>([&] {
    const py::gil_scoped_release release;
    return unwrap(dump::StoredTensor::read(slot));
  }());
  py::array array = has_numpy_dtype(tensor->view().dtype) ? wrap(std::move(tensor)) : widen(*tensor);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

py::object to_text(std::string_view bytes) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

py::object to_number(const std::string& text) {
  const char *begin = text.c_str(), *end = begin + text.size();
  char* stop = nullptr;
  if (text.empty()) return py::none();
  if (text.find_first_not_of("-0123456789") == std::string::npos) {
    const long long whole = std::strtoll(begin, &stop, 10);
    if (stop == end) return py::int_(whole);
  }
  const double value = std::strtod(begin, &stop);
  return stop == end ? py::object(py::float_(value)) : py::object(py::str(text));
}

py::object to_tuple(const std::optional<model::Shape>& shape) {
  if (!shape) return py::none();
  py::tuple tuple(shape->rank());
  for (std::size_t axis = 0; axis < shape->rank(); ++axis) tuple[axis] = (*shape)[axis];
  return tuple;
}

py::object dtype_name(model::DType dtype) {
  if (dtype == model::DType::undefined) return py::none();
  return py::str(std::string(model::dtype_info(dtype).name));
}

}  // namespace opdump::bindings
