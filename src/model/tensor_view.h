// A non-owning view of a tensor: the address and spacing of its elements. Never copies, never frees.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/dtype.h"
#include "model/shape.h"

namespace opdump::model {

struct TensorView {
  DType dtype = DType::undefined;
  Shape shape;
  Shape strides;                    // in elements, one per dimension; may be 0 (broadcast) or negative
  const std::byte* data = nullptr;  // element 0 of each dimension, not the lowest address; host memory

  // A view of row-major memory.
  static TensorView row_major(DType dtype, Shape shape, const void* data);

  // Number of elements; 0 for a shape that is not valid (see element_count).
  std::uint64_t element_count() const;

  // Bytes of the elements laid end to end; packed types round up to a whole byte.
  std::uint64_t byte_count() const;

  // True if the elements are row-major without gaps. Packed types (int4, uint1) always are.
  bool is_contiguous() const;

  // True if the elements fill one block of memory from `data` on, each position once, in any order.
  bool is_dense() const;

  // True for a 4-dimensional NCHW tensor whose memory is NHWC ("channels last") and not also row-major.
  bool is_channels_last() const;

  // Views the memory in its own order: NHWC dimensions for channels-last views, otherwise the view itself.
  TensorView in_memory_order() const;
};

}  // namespace opdump::model
