// The elements of a tensor as a matrix of numbers, row by row. One dimension is a column; of three or more,
// all but the last two number the rows, too; a kernel of a convolution (4 or more) has a row for each output.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "dump/read/dump_set.h"
#include "weights/checkpoint.h"

namespace opdump::weights {

struct MatrixShape {
  std::uint64_t blocks = 1, rows = 1, columns = 1;  // rows of each block
  std::uint64_t all_rows() const { return blocks * rows; }
  std::uint64_t count() const { return blocks * rows * columns; }
  MatrixShape swapped() const { return {blocks, columns, rows}; }
};
MatrixShape matrix_of(const model::Shape& shape);

class WeightElements {
 public:
  // `swapped`: rows and columns of each block are exchanged. Errors: those of StoredTensor::read.
  static Result<WeightElements> open(const WeightTensor& tensor, bool swapped = false);
  // The axes of the tensor in another order, for those of 3 and more.
  static Result<WeightElements> open_permuted(const WeightTensor& tensor,
                                              const std::vector<std::size_t>& axes);

  const MatrixShape& shape() const { return shape_; }
  model::DType dtype() const { return dtype_; }
  const std::byte* data() const { return data_; }
  // Row-major elements from `first` on.
  void read(std::uint64_t first, std::uint64_t count, float* out) const;
  void read(std::uint64_t first, std::uint64_t count, double* out) const;
  // Whether float has every number.
  bool fits_float() const;

 private:
  WeightElements(dump::StoredTensor stored, MatrixShape shape) : stored_(std::move(stored)), shape_(shape) {}
  Result<> place(model::TensorView view);

  dump::StoredTensor stored_;
  Scratch copy_;  // in row-major order, if it is stored in another one
  MatrixShape shape_;
  model::DType dtype_ = model::DType::undefined;
  std::size_t element_bytes_ = 0;
  const std::byte* data_ = nullptr;
};

}  // namespace opdump::weights
