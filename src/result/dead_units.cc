#include "result/dead_units.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "model/dtype.h"

namespace opdump::result {
namespace {

// All bits but the sign of a little-endian float. 0 and -0 are zero.
bool is_zero(const std::byte* element, std::size_t size) {
  for (std::size_t i = 0; i + 1 < size; ++i)
    if (element[i] != std::byte{0}) return false;
  return (element[size - 1] & std::byte{0x7f}) == std::byte{0};
}

}  // namespace

std::optional<DeadUnits> count_dead_units(const model::TensorView& tensor) {
  const model::DTypeInfo& info = model::dtype_info(tensor.dtype);
  const std::size_t rank = tensor.shape.rank(), size = info.bits / 8;
  if (info.kind != model::DTypeKind::floating || size < 2 || rank < 2 || !tensor.is_contiguous()) return {};
  const std::size_t axis = rank >= 4 ? 1 : rank - 1;
  const auto units = static_cast<std::uint64_t>(tensor.shape[axis]);
  const std::uint64_t all = tensor.element_count();
  if (units == 0 || all < 2 * units) return {};
  std::uint64_t run = 1;  // elements of one unit that lie together
  for (std::size_t i = axis + 1; i < rank; ++i) run *= static_cast<std::uint64_t>(tensor.shape[i]);
  std::vector<char> is_alive(units);
  std::uint64_t dead = units;
  for (std::uint64_t at = 0; at < all && dead > 0; at += run) {
    const std::uint64_t unit = at / run % units;
    for (std::uint64_t i = 0; i < run && is_alive[unit] == 0; ++i) {
      if (is_zero(tensor.data + (at + i) * size, size)) continue;
      is_alive[unit] = 1;
      --dead;
    }
  }
  return DeadUnits{units, dead};
}

std::optional<double> largest_finite(model::DType dtype) {
  switch (dtype) {
    case model::DType::float16:
      return 65504;
    case model::DType::bfloat16:
      return 0x1.fep127;
    case model::DType::float32:
      return std::numeric_limits<float>::max();
    case model::DType::float64:
      return std::numeric_limits<double>::max();
    case model::DType::float8_e4m3:
      return 448;
    case model::DType::float8_e5m2:
      return 57344;
    default:
      return {};
  }
}

}  // namespace opdump::result
