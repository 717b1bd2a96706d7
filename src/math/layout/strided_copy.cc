#include "math/layout/strided_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "math/layout/box_copy.h"
#include "math/layout/transpose.h"
#include "math/memory_walk.h"

namespace opdump::math {
namespace {

using model::TensorView;

constexpr std::uint64_t kLargeBytes = 64 << 20, kBlockBytes = 4 << 20;

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

// Copies a large tensor, which may be mapped on both sides, in blocks that are near on both. What is mapped
// is read and written past the mapping, so that the copy needs no more memory than its buffer.
class LargeCopy {
 public:
  LargeCopy(std::size_t element_bytes, const TensorView& view, std::span<std::byte> out)
      : element_bytes_(element_bytes),
        from_file_(MappingFile::find({view.data, 1})),
        to_file_(MappingFile::find(out)),
        buffer_(from_file_ || to_file_ ? 2 * kBlockBytes : 0) {}

  void copy(const CopyBox& box, std::uint64_t bytes, const std::byte* from, std::byte* to) {
    if (bytes <= kBlockBytes)
      return copy_box_between(element_bytes_, box, from, to, from_file_, to_file_, buffer_);
    const auto reach = [](const CopyLoop& loop) {
      return loop.extent > 1 ? loop.extent * std::max(std::abs(loop.from), loop.to) : 0;
    };
    const auto end = box.loops.begin() + static_cast<std::ptrdiff_t>(box.count);
    const auto far = std::max_element(
        box.loops.begin(), end, [&](const CopyLoop& a, const CopyLoop& b) { return reach(a) < reach(b); });
    CopyBox half = box;
    CopyLoop& loop = half.loops[static_cast<std::size_t>(far - box.loops.begin())];
    loop.extent = far->extent / 2;
    const std::uint64_t each = bytes / static_cast<std::uint64_t>(far->extent);
    copy(half, each * static_cast<std::uint64_t>(loop.extent), from, to);
    from += loop.extent * loop.from;
    to += loop.extent * loop.to;
    loop.extent = far->extent - loop.extent;
    copy(half, each * static_cast<std::uint64_t>(loop.extent), from, to);
  }

 private:
  std::size_t element_bytes_;
  std::optional<MappingFile> from_file_, to_file_;
  std::vector<std::byte> buffer_;
};

// Rows of `view` one after the other.
CopyBox box_of(const TensorView& view) {
  const auto size = static_cast<std::ptrdiff_t>(model::dtype_info(view.dtype).bits / 8);
  const model::Shape steps = model::row_major_strides(view.shape);
  CopyBox box;
  for (; box.count < view.shape.rank(); ++box.count)
    box.loops[box.count] = {view.shape[box.count], view.strides[box.count] * size, steps[box.count] * size};
  return box;
}

}  // namespace

void copy_row_major(const TensorView& view, std::span<std::byte> out) {
  const std::uint64_t bytes = view.byte_count();
  if (bytes == 0 || out.size() < bytes) return;
  const TensorView merged = merge_dimensions(view);
  const std::size_t last = merged.shape.rank() - 1, size = model::dtype_info(view.dtype).bits / 8;
  if (bytes > kLargeBytes && size > 0 && merged.shape.rank() <= CopyBox::kMaxLoops)
    return LargeCopy(size, merged, out).copy(box_of(merged), bytes, merged.data, out.data());
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
