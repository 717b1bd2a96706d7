#include "weights/elements.h"

#include <utility>

#include "base/file/resident.h"
#include "math/convert.h"
#include "math/layout/strided_copy.h"

namespace opdump::weights {
namespace {

using model::DType;

// Complex numbers as two reals.
model::TensorView as_reals(model::TensorView view) {
  const DType part = view.dtype == DType::complex64    ? DType::float32
                     : view.dtype == DType::complex128 ? DType::float64
                     : view.dtype == DType::complex32  ? DType::float16
                                                       : DType::undefined;
  if (part == DType::undefined) return view;
  std::vector<std::int64_t> dims(view.shape.dims().begin(), view.shape.dims().end());
  std::vector<std::int64_t> strides(view.strides.dims().begin(), view.strides.dims().end());
  for (std::int64_t& stride : strides) stride *= 2;
  dims.push_back(2);
  strides.push_back(1);
  return {part, model::Shape(dims), model::Shape(strides), view.data};
}

}  // namespace

MatrixShape matrix_of(const model::Shape& shape) {
  const auto size = [&](std::size_t axis) { return static_cast<std::uint64_t>(shape[axis]); };
  MatrixShape matrix;
  const std::size_t rank = shape.rank();
  if (rank == 1) matrix.rows = size(0);
  if (rank == 2 || rank == 3) {
    if (rank == 3) matrix.blocks = size(0);
    matrix.rows = size(rank - 2);
    matrix.columns = size(rank - 1);
  }
  if (rank >= 4) {
    matrix.rows = size(0);
    for (std::size_t axis = 1; axis < rank; ++axis) matrix.columns *= size(axis);
  }
  return matrix;
}

Result<> WeightElements::place(model::TensorView view) {
  dtype_ = view.dtype;
  element_bytes_ = model::dtype_info(dtype_).bits / 8;
  data_ = view.data;
  if (view.is_contiguous()) return ok();
  OPDUMP_TRY(copy_, Scratch::make(view.byte_count()));
  math::copy_row_major(view, copy_.bytes());
  data_ = copy_.data();
  return ok();
}

Result<WeightElements> WeightElements::open(const WeightTensor& tensor, bool swapped) {
  OPDUMP_TRY(dump::StoredTensor stored, dump::StoredTensor::read(tensor.slot, dump::Alignment::any));
  const model::TensorView whole = stored.view();
  const bool is_complex = model::dtype_info(whole.dtype).kind == model::DTypeKind::complex;
  const bool swaps = swapped && !is_complex && whole.shape.rank() >= 2 && whole.shape.rank() <= 3;
  MatrixShape shape = matrix_of(whole.shape);
  if (is_complex) shape.columns *= 2;
  WeightElements elements(std::move(stored), swaps ? shape.swapped() : shape);
  model::TensorView view = as_reals(whole);
  if (swaps) {
    const std::size_t last = view.shape.rank() - 1;
    std::swap(view.shape.dims()[last], view.shape.dims()[last - 1]);
    std::swap(view.strides.dims()[last], view.strides.dims()[last - 1]);
  }
  OPDUMP_CHECK_OK(elements.place(std::move(view)));
  return elements;
}

Result<WeightElements> WeightElements::open_permuted(const WeightTensor& tensor,
                                                     const std::vector<std::size_t>& axes) {
  OPDUMP_TRY(dump::StoredTensor stored, dump::StoredTensor::read(tensor.slot, dump::Alignment::any));
  const model::TensorView whole = stored.view();
  model::TensorView view = whole;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    view.shape.dims()[axis] = whole.shape[axes[axis]];
    view.strides.dims()[axis] = whole.strides[axes[axis]];
  }
  WeightElements elements(std::move(stored), matrix_of(view.shape));
  OPDUMP_CHECK_OK(elements.place(std::move(view)));
  return elements;
}

bool WeightElements::fits_float() const { return math::fits_float(dtype_); }

void WeightElements::read(std::uint64_t first, std::uint64_t count, float* out) const {
  math::convert_elements(dtype_, data_ + first * element_bytes_, out, count);
  give_back_when_due();
}

void WeightElements::read(std::uint64_t first, std::uint64_t count, double* out) const {
  math::convert_elements(dtype_, data_ + first * element_bytes_, out, count);
  give_back_when_due();
}

}  // namespace opdump::weights
