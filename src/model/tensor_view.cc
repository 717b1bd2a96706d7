#include "model/tensor_view.h"

#include <utility>

namespace opdump::model {

TensorView TensorView::row_major(DType dtype, Shape shape, const void* data) {
  TensorView view{dtype, std::move(shape), {}, static_cast<const std::byte*>(data)};
  view.strides = row_major_strides(view.shape);
  return view;
}

std::uint64_t TensorView::element_count() const { return model::element_count(shape).value_or(0); }

std::uint64_t TensorView::byte_count() const {
  const std::uint64_t bits = dtype_info(dtype).bits;
  const std::uint64_t count = element_count();
  return bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
}

bool TensorView::is_contiguous() const {
  std::uint64_t step = 1;  // wraps for shapes that element_count refuses
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    if (shape[axis] == 0) return true;
    const bool is_used = shape[axis] != 1;  // the stride of a size-1 axis never is
    if (is_used && static_cast<std::uint64_t>(strides[axis]) != step) return false;
    step *= static_cast<std::uint64_t>(shape[axis]);
  }
  return true;
}

bool TensorView::is_dense() const {
  if (is_contiguous()) return true;
  if (dtype_info(dtype).bits < 8) return false;
  // From the innermost dimension in memory outwards, each must begin where the one before it ends.
  std::int64_t step = 1;
  for (const std::uint64_t count = element_count(); static_cast<std::uint64_t>(step) < count;) {
    std::size_t axis = 0;
    while (axis < shape.rank() && (shape[axis] == 1 || strides[axis] != step)) ++axis;
    if (axis == shape.rank()) return false;
    step *= shape[axis];
  }
  return true;
}

bool TensorView::is_channels_last() const {
  return shape.rank() == 4 && !is_contiguous() && in_memory_order().is_contiguous();
}

TensorView TensorView::in_memory_order() const {
  if (shape.rank() != 4 || is_contiguous()) return *this;
  TensorView view = *this;
  view.shape = {shape[0], shape[2], shape[3], shape[1]};
  view.strides = {strides[0], strides[2], strides[3], strides[1]};
  return view.is_contiguous() ? view : *this;
}

}  // namespace opdump::model
