#include "math/strided_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "math/memory_walk.h"
#include "math/transpose.h"

namespace opdump::math {
namespace {

using model::TensorView;

// The dimension, not the innermost, whose neighbours lie together; -1 if there is none.
int find_unit_axis(const TensorView& view) {
  for (std::size_t axis = 0; axis + 1 < view.shape.rank(); ++axis)
    if (view.strides[axis] == 1) return static_cast<int>(axis);
  return -1;
}

// Rows that lie together, `step` bytes apart. Only the first bytes of a row need to be fetched early: the
// hardware sees the rest coming, but not the jump.
void copy_rows(const std::byte* in, std::ptrdiff_t step, std::byte* out, std::size_t row_bytes,
               std::int64_t rows) {
  constexpr std::ptrdiff_t kAhead = 16;
  const std::size_t fetched = std::min<std::size_t>(row_bytes, 256);
  for (std::int64_t row = 0; row < rows; ++row, in += step, out += row_bytes) {
    for (std::size_t offset = 0; offset < fetched; offset += 64)
      __builtin_prefetch(in + kAhead * step + offset);
    std::memcpy(out, in, row_bytes);
  }
}

// Copies the plane of dimension `axis` and the innermost one for every index of the dimensions between `skip`
// and the innermost one. `out_strides` are those of the row-major result.
void copy_planes(const TensorView& view, std::size_t axis, std::size_t skip, const model::Shape& out_strides,
                 std::byte* out) {
  const std::size_t size = model::dtype_info(view.dtype).bits / 8;
  const auto bytes = [&](std::int64_t elements) { return elements * static_cast<std::int64_t>(size); };
  const std::size_t last = view.shape.rank() - 1;
  if (skip == axis) ++skip;
  if (skip >= last) {
    if (view.strides[last] == 1)
      copy_rows(view.data, bytes(view.strides[axis]), out, size * static_cast<std::size_t>(view.shape[last]),
                view.shape[axis]);
    else
      transpose(size, view.data, bytes(view.strides[last]), out, bytes(out_strides[axis]),
                static_cast<std::size_t>(view.shape[axis]), static_cast<std::size_t>(view.shape[last]));
    return;
  }
  TensorView slice = view;
  for (std::int64_t i = 0; i < view.shape[skip]; ++i) {
    copy_planes(slice, axis, skip + 1, out_strides, out + bytes(i * out_strides[skip]));
    slice.data += bytes(view.strides[skip]);
  }
}

}  // namespace

void copy_row_major(const TensorView& view, std::span<std::byte> out) {
  const std::uint64_t bytes = view.byte_count();
  if (bytes == 0 || out.size() < bytes) return;
  const TensorView merged = merge_dimensions(view);
  const std::size_t last = merged.shape.rank() - 1;
  const int axis = merged.strides[last] == 1 ? static_cast<int>(last) - 1 : find_unit_axis(merged);
  if (merged.shape.rank() == 1 && merged.strides[0] == 1) {
    std::memcpy(out.data(), view.data, bytes);
  } else if (axis >= 0) {
    copy_planes(merged, static_cast<std::size_t>(axis), 0, model::row_major_strides(merged.shape),
                out.data());
  } else {
    RowMajorReader reader(merged);
    const std::uint64_t count = reader.remaining();
    const std::byte* end = reader.next(count, out.data());
    if (end != out.data()) std::memcpy(out.data(), end, bytes);
  }
}

}  // namespace opdump::math
