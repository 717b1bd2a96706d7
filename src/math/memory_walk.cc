#include "math/memory_walk.h"

#include <cstring>
#include <span>

#include "base/file/resident.h"

namespace opdump::math {
namespace {

using model::Shape;
using model::TensorView;

constexpr std::size_t kLookElements = 1 << 18;  // some megabytes at most

// Drops dimensions of size 1 and joins neighbours, in place; both spans keep their order.
void join(TensorView& view) {
  std::size_t rank = 0;
  std::span<std::int64_t> sizes = view.shape.dims(), strides = view.strides.dims();
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == 1) continue;
    if (rank > 0 && strides[rank - 1] == strides[axis] * sizes[axis]) {
      sizes[rank - 1] *= sizes[axis];
      strides[rank - 1] = strides[axis];
    } else {
      sizes[rank] = sizes[axis];
      strides[rank++] = strides[axis];
    }
  }
  view.shape = Shape(std::span<const std::int64_t>(sizes.first(rank)));
  view.strides = Shape(std::span<const std::int64_t>(strides.first(rank)));
}

void sort_by_stride(TensorView& view) {
  std::span<std::int64_t> sizes = view.shape.dims(), strides = view.strides.dims();
  for (std::size_t axis = 1; axis < sizes.size(); ++axis)
    for (std::size_t at = axis; at > 0 && strides[at - 1] < strides[at]; --at) {
      std::swap(strides[at - 1], strides[at]);
      std::swap(sizes[at - 1], sizes[at]);
    }
}

// Packed types always lie flat, whatever their strides say.
bool lies_flat(const TensorView& view) {
  return model::dtype_info(view.dtype).bits < 8 || view.is_contiguous();
}

TensorView flat(const TensorView& view) {
  return {view.dtype, {static_cast<std::int64_t>(view.element_count())}, {1}, view.data};
}

template <std::size_t kSize>
void gather_run(const std::byte* first, std::ptrdiff_t step, std::size_t count, std::byte* out) {
  for (std::size_t i = 0; i < count; ++i, first += step, out += kSize) std::memcpy(out, first, kSize);
}

void gather_run(std::size_t size, const std::byte* first, std::ptrdiff_t step, std::size_t count,
                std::byte* out) {
  if (step == static_cast<std::ptrdiff_t>(size)) {
    std::memcpy(out, first, size * count);
    return;
  }
  switch (size) {
    case 1:
      return gather_run<1>(first, step, count, out);
    case 2:
      return gather_run<2>(first, step, count, out);
    case 4:
      return gather_run<4>(first, step, count, out);
    case 8:
      return gather_run<8>(first, step, count, out);
    default:
      return gather_run<16>(first, step, count, out);
  }
}

}  // namespace

TensorView merge_dimensions(const TensorView& view) {
  if (lies_flat(view)) return flat(view);
  TensorView result = view;
  join(result);
  return result;
}

MemoryOrder memory_order(const TensorView& view) {
  MemoryOrder result{lies_flat(view) ? flat(view) : view};
  TensorView& out = result.view;
  std::span<std::int64_t> sizes = out.shape.dims(), strides = out.strides.dims();
  const std::int64_t element_bytes = model::dtype_info(view.dtype).bits / 8;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] > 1 && strides[axis] == 0) {
      result.repeats *= static_cast<std::uint64_t>(sizes[axis]);
      sizes[axis] = 1;
    } else if (sizes[axis] > 1 && strides[axis] < 0) {
      out.data += (sizes[axis] - 1) * strides[axis] * element_bytes;
      strides[axis] = -strides[axis];
    }
  }
  sort_by_stride(out);
  join(out);
  return result;
}

RowMajorReader::RowMajorReader(const TensorView& view)
    : view_(merge_dimensions(view)),
      row_(view.data),
      remaining_(view.element_count()),
      bits_(model::dtype_info(view.dtype).bits) {
  index_ = view_.shape;
  for (std::int64_t& index : index_.dims()) index = 0;
  give_back_when_due();  // the views of parallel loops are small
}

const std::byte* RowMajorReader::next(std::size_t count, std::byte* buffer) {
  if ((since_look_ += count) >= kLookElements) {
    give_back_when_due();
    since_look_ = 0;
  }
  const std::size_t last = view_.shape.rank() - 1;
  const bool fits_in_row =
      index_[last] + static_cast<std::int64_t>(count) <= view_.shape[last] && view_.strides[last] == 1;
  if (!fits_in_row || count == 0) {
    gather(count, buffer);
    return buffer;
  }
  const std::byte* first;
  next_run(count, first);
  return first;
}

void RowMajorReader::gather(std::size_t count, std::byte* out) {
  const std::size_t size = bits_ / 8;
  const std::ptrdiff_t step = view_.strides[view_.shape.rank() - 1] * static_cast<std::ptrdiff_t>(size);
  while (count > 0) {
    const std::byte* first;
    const std::size_t run = next_run(count, first);
    gather_run(size, first, step, run, out);
    out += run * size;
    count -= run;
  }
}

// Takes up to `limit` elements of the current innermost row and moves on; `first` is where they begin.
std::size_t RowMajorReader::next_run(std::size_t limit, const std::byte*& first) {
  const std::int64_t size_bits = static_cast<std::int64_t>(bits_);
  const auto bytes = [&](std::int64_t elements) { return elements * size_bits / 8; };
  std::span<std::int64_t> index = index_.dims();
  std::size_t axis = index.size() - 1;
  const std::size_t run = std::min(limit, static_cast<std::size_t>(view_.shape[axis] - index[axis]));
  first = row_ + bytes(index[axis] * view_.strides[axis]);
  remaining_ -= run;
  index[axis] += static_cast<std::int64_t>(run);
  while (axis > 0 && index[axis] == view_.shape[axis]) {
    if (axis + 1 < index.size()) row_ -= bytes(index[axis] * view_.strides[axis]);
    index[axis--] = 0;
    ++index[axis];
    row_ += bytes(view_.strides[axis]);
  }
  return run;
}

}  // namespace opdump::math
