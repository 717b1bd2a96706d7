#include "capture/tensor_forms.h"

#include <algorithm>

#include "math/layout/strided_copy.h"

namespace opdump::capture {

std::vector<std::byte> first_elements(model::TensorView view, std::uint64_t count) {
  // This copies no more than is needed: fewer than twice as many elements.
  std::vector<std::int64_t> dims(view.shape.dims().begin(), view.shape.dims().end());
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    std::uint64_t inner = 1;
    for (std::size_t i = axis + 1; i < dims.size(); ++i) inner *= static_cast<std::uint64_t>(dims[i]);
    const std::uint64_t rows = (count + inner - 1) / inner;
    dims[axis] = std::min(dims[axis], static_cast<std::int64_t>(rows));
    if (rows > 1) break;
  }
  view.shape = model::Shape(std::span<const std::int64_t>(dims));
  std::vector<std::byte> bytes(view.byte_count());
  math::copy_row_major(view, bytes);
  return bytes;
}

model::TensorView as_reals(model::TensorView view) {
  if (view.dtype != model::DType::complex64 && view.dtype != model::DType::complex128) return view;
  view.dtype = view.dtype == model::DType::complex64 ? model::DType::float32 : model::DType::float64;
  std::vector<std::int64_t> dims(view.shape.dims().begin(), view.shape.dims().end());
  std::vector<std::int64_t> strides(view.strides.dims().begin(), view.strides.dims().end());
  for (std::int64_t& stride : strides) stride *= 2;
  dims.push_back(2);
  strides.push_back(1);
  view.shape = model::Shape(std::span<const std::int64_t>(dims));
  view.strides = model::Shape(std::span<const std::int64_t>(strides));
  return view;
}

model::TensorView in_memory(const model::TensorView& view) {
  if (!view.is_dense()) return view;
  return model::TensorView::row_major(view.dtype, {static_cast<std::int64_t>(view.element_count())},
                                      view.data);
}

model::TensorView volumes_in_memory_order(const model::TensorView& view) {
  if (view.shape.rank() != 5 || view.is_contiguous()) return view;
  model::TensorView last = view;
  for (model::Shape* sizes : {&last.shape, &last.strides}) {
    const auto dims = sizes->dims();
    std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  }
  return last.is_contiguous() ? last : view;
}

}  // namespace opdump::capture
