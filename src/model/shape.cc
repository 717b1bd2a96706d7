#include "model/shape.h"

namespace opdump::model {

std::optional<std::uint64_t> element_count(const Shape& shape) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 62;
  std::uint64_t count = 1;
  bool overflows = false;
  for (const std::int64_t dim : shape.dims()) {
    if (dim < 0) return std::nullopt;
    if (std::uint64_t product = 0;
        __builtin_mul_overflow(count, static_cast<std::uint64_t>(dim), &product) || product > kMax) {
      overflows = true;  // still legal if a later dimension is 0
      count = 1;
    } else {
      count = product;
    }
  }
  if (count != 0 && overflows) return std::nullopt;
  return count;
}

std::string format_shape(const Shape& shape) {
  std::string text = "(";
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ',';
    text += std::to_string(shape[axis]);
  }
  return text += ')';
}

Shape row_major_strides(const Shape& shape) {
  Shape strides = shape;
  std::uint64_t step = 1;  // wraps for shapes that element_count refuses
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    strides.dims()[axis] = static_cast<std::int64_t>(step);
    step *= static_cast<std::uint64_t>(std::max<std::int64_t>(shape[axis], 1));
  }
  return strides;
}

}  // namespace opdump::model
