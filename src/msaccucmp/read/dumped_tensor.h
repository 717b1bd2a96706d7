// The tensors of one dump file, as NumPy would have them in the original: of dump files of the accelerator
// and of .pb and .quant files the message's inputs and outputs, of a .npy its array as the one output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/format.h"
#include "model/tensor_view.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {

// Elements, row by row, of some memory that they keep: a mapped file, or an array that was made.
struct TensorData {
  model::DType dtype = model::DType::undefined;
  model::Shape shape;
  const std::byte* bytes = nullptr;
  std::shared_ptr<const void> owner;

  std::uint64_t count() const { return model::element_count(shape).value_or(0); }
  model::TensorView view() const { return model::TensorView::row_major(dtype, shape, bytes); }
  // Returns the same elements as one row.
  TensorData flat() const;
  // The name of the NumPy type that the original would have made: "float32" for bfloat16.
  std::string numpy_name() const;
};

// Zeroed memory for `bytes` bytes of elements (base/file/scratch.h). Failure: unknown -- there is none.
Outcome<std::shared_ptr<std::byte>> make_memory(std::uint64_t bytes, Log& log);

struct DumpedTensor {
  std::int32_t data_type = 0;  // the number of the message
  model::Format format = model::Format::nd;
  model::Shape shape;           // as it is stated
  model::Shape original_shape;  // before the device changed the format; () if it is not stated
  std::uint64_t address = 0;
  std::int64_t groups = 0;  // of a convolution
  TensorData data;          // of one row; may be fewer elements than the shape says
};

struct DumpedOperator {
  std::string path;
  std::string name;        // in the message; "" in a .npy
  std::string attributes;  // the first attribute, JSON; "" if there is none
  bool is_whole = true;    // false: of slices that were put together, some were missing
  bool is_slice = false;   // executed in slices: the inputs are those of one; the outputs were put together
  std::vector<DumpedTensor> inputs, outputs;
};

// Failures: open_file, invalid_dtype, those of decode_header. What the original says of them is said.
Outcome<DumpedOperator> read_dumped_operator(const std::string& path, Log& log);

// The array of a .npy as it is shaped. Failure: invalid_dump.
Outcome<TensorData> read_npy_array(const std::string& path, Log& log);

// True if the original calls a tensor of that shape a scalar: its dimensions are 1, or it has none.
bool is_scalar_shape(const model::Shape& shape);

}  // namespace opdump::msaccucmp
