// Where an element is: its number in row-major order, its index in each dimension, its place in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/tensor_view.h"

namespace opdump::model {

// The index in each dimension of row-major element `number`. Dimensions of size 0 count as 1.
inline std::vector<std::uint64_t> position_of(std::uint64_t number, const Shape& shape) {
  std::vector<std::uint64_t> position(shape.rank());
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(shape[axis], 1));
    position[axis] = number % size;
    number /= size;
  }
  return position;
}

// How many elements row-major element `number` of the view lies behind view.data.
inline std::int64_t element_offset(const TensorView& view, std::uint64_t number) {
  std::int64_t offset = 0;
  for (std::size_t axis = view.shape.rank(); axis-- > 0;) {
    const auto size = static_cast<std::uint64_t>(view.shape[axis]);
    offset += static_cast<std::int64_t>(number % size) * view.strides[axis];
    number /= size;
  }
  return offset;
}

}  // namespace opdump::model
