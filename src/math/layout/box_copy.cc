#include "math/layout/box_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/worker_pool.h"
#include "math/layout/transpose.h"

namespace opdump::math {
namespace {

constexpr std::size_t kTileBytes = 256;  // written side by side before the next row
constexpr std::int64_t kBytesPerThread = 1 << 20;

// Sorts the loops by the distance they move the target, and makes one of those that follow each other without
// a gap on both sides.
void tidy(CopyBox& box) {
  const auto end =
      std::remove_if(box.loops.begin(), box.loops.begin() + static_cast<std::ptrdiff_t>(box.count),
                     [](const CopyLoop& loop) { return loop.extent == 1; });
  std::stable_sort(box.loops.begin(), end, [](const CopyLoop& a, const CopyLoop& b) { return a.to > b.to; });
  std::size_t count = 0;
  for (auto loop = box.loops.begin(); loop != end; ++loop) {
    CopyLoop* outer = count > 0 ? &box.loops[count - 1] : nullptr;
    if (outer != nullptr && outer->from == loop->from * loop->extent && outer->to == loop->to * loop->extent)
      *outer = {outer->extent * loop->extent, loop->from, loop->to};
    else
      box.loops[count++] = *loop;
  }
  box.count = count;
}

CopyLoop take_loop(CopyBox& box, std::size_t index) {
  const CopyLoop taken = box.loops[index];
  std::copy(box.loops.begin() + static_cast<std::ptrdiff_t>(index) + 1,
            box.loops.begin() + static_cast<std::ptrdiff_t>(box.count),
            box.loops.begin() + static_cast<std::ptrdiff_t>(index));
  --box.count;
  return taken;
}

template <std::size_t kSize>
void copy_row(const std::byte* from, std::byte* to, std::size_t) {
  std::memcpy(to, from, kSize);
}

void copy_any_row(const std::byte* from, std::byte* to, std::size_t bytes) { std::memcpy(to, from, bytes); }

// Rows of bytes in two dimensions: `near` follows the target, `far` the source. As many rows are put side by
// side in the target as fill some cache lines; then the source goes on where it lies.
template <auto kCopyRow>
void copy_rows(std::size_t row_bytes, const CopyLoop& far, const CopyLoop& near, const std::byte* from,
               std::byte* to) {
  const auto tile = static_cast<std::int64_t>(std::max<std::size_t>(kTileBytes / row_bytes, 1));
  for (std::int64_t begin = 0; begin < near.extent; begin += tile) {
    const std::int64_t width = std::min(tile, near.extent - begin);
    for (std::int64_t i = 0; i < far.extent; ++i) {
      const std::byte* source = from + begin * near.from + i * far.from;
      std::byte* target = to + begin * near.to + i * far.to;
      for (std::int64_t k = 0; k < width; ++k, source += near.from, target += near.to)
        kCopyRow(source, target, row_bytes);
    }
  }
}

// What is done for every index of the outer loops.
struct Plane {
  enum class Kind { rows, transpose, elements } kind = Kind::elements;
  std::size_t element_bytes = 1, row_bytes = 0;
  CopyLoop far, near;

  void copy(const std::byte* from, std::byte* to) const {
    if (kind == Kind::transpose)
      return transpose(element_bytes, from, near.from, to, far.to, static_cast<std::size_t>(far.extent),
                       static_cast<std::size_t>(near.extent));
    switch (row_bytes) {
      case 1:
        return copy_rows<copy_row<1>>(1, far, near, from, to);
      case 2:
        return copy_rows<copy_row<2>>(2, far, near, from, to);
      case 4:
        return copy_rows<copy_row<4>>(4, far, near, from, to);
      case 8:
        return copy_rows<copy_row<8>>(8, far, near, from, to);
      case 16:
        return copy_rows<copy_row<16>>(16, far, near, from, to);
      case 32:
        return copy_rows<copy_row<32>>(32, far, near, from, to);
      case 64:
        return copy_rows<copy_row<64>>(64, far, near, from, to);
      default:
        return copy_rows<copy_any_row>(row_bytes, far, near, from, to);
    }
  }
};

// The loop, not `except`, whose steps in the source are smallest.
std::size_t nearest_source(const CopyBox& box) {
  const auto end = box.loops.begin() + static_cast<std::ptrdiff_t>(box.count);
  const auto found = std::min_element(box.loops.begin(), end,
                                      [](const CopyLoop& a, const CopyLoop& b) { return a.from < b.from; });
  return static_cast<std::size_t>(found - box.loops.begin());
}

// Takes the loops of the innermost work out of a tidy box.
Plane take_plane(CopyBox& box, std::size_t element_bytes) {
  const auto step = static_cast<std::ptrdiff_t>(element_bytes);
  Plane plane;
  plane.element_bytes = plane.row_bytes = element_bytes;
  if (box.count == 0) return plane;
  const CopyLoop last = box.loops[box.count - 1];
  if (last.to == step && last.from == step) {
    plane.kind = Plane::Kind::rows;
    plane.row_bytes = element_bytes * static_cast<std::size_t>(last.extent);
    --box.count;
  }
  if (box.count == 0) return plane;
  plane.near = take_loop(box, box.count - 1);
  if (box.count == 0) return plane;
  const std::size_t nearest = nearest_source(box);
  if (plane.near.to == step && box.loops[nearest].from == step) plane.kind = Plane::Kind::transpose;
  plane.far = take_loop(box, nearest);
  return plane;
}

// The outer loops so that both sides stay where they are for long.
void sort_outer(CopyBox& box) {
  std::sort(box.loops.begin(), box.loops.begin() + static_cast<std::ptrdiff_t>(box.count),
            [](const CopyLoop& a, const CopyLoop& b) {
              return static_cast<double>(a.from) * static_cast<double>(a.to) >
                     static_cast<double>(b.from) * static_cast<double>(b.to);
            });
}

void copy_outer(const CopyBox& box, std::size_t level, const Plane& plane, const std::byte* from,
                std::byte* to) {
  if (level == box.count) return plane.copy(from, to);
  const CopyLoop& loop = box.loops[level];
  for (std::int64_t i = 0; i < loop.extent; ++i, from += loop.from, to += loop.to)
    copy_outer(box, level + 1, plane, from, to);
}

std::int64_t byte_count(const CopyBox& box, std::size_t element_bytes) {
  auto bytes = static_cast<std::int64_t>(element_bytes);
  for (std::size_t i = 0; i < box.count; ++i) bytes *= box.loops[i].extent;
  return bytes;
}

// The longest loop in pieces, each for the next free thread.
void copy_parallel(std::size_t element_bytes, const CopyBox& box, const std::byte* from, std::byte* to,
                   unsigned threads, std::int64_t pieces) {
  const auto longest =
      std::max_element(box.loops.begin(), box.loops.begin() + static_cast<std::ptrdiff_t>(box.count),
                       [](const CopyLoop& a, const CopyLoop& b) { return a.extent < b.extent; });
  const std::size_t index = static_cast<std::size_t>(longest - box.loops.begin());
  const std::int64_t per_piece = (longest->extent + pieces - 1) / pieces;
  const std::int64_t count = (longest->extent + per_piece - 1) / per_piece;
  parallel_for(static_cast<std::size_t>(count), threads, [&](std::size_t piece) {
    const std::int64_t begin = static_cast<std::int64_t>(piece) * per_piece;
    CopyBox part = box;
    part.loops[index].extent = std::min(per_piece, longest->extent - begin);
    copy_box(element_bytes, part, from + begin * longest->from, to + begin * longest->to, 1);
  });
}

// One side of a box in stretches, which lie together there, and where they lie in a buffer without gaps.
struct Stretches {
  std::array<CopyLoop, CopyBox::kMaxLoops> loops{};  // over the stretches: in the mapping and in the buffer
  std::size_t count = 0, bytes = 0;                  // loops; bytes of a stretch
};

// Sorts the loops of the box by what they move on `side`, and makes it one that has this side in the buffer.
Stretches stage_side(std::size_t element_bytes, CopyBox& box, std::ptrdiff_t CopyLoop::*side) {
  const auto end = box.loops.begin() + static_cast<std::ptrdiff_t>(box.count);
  std::sort(box.loops.begin(), end, [&](const CopyLoop& a, const CopyLoop& b) { return a.*side > b.*side; });
  auto stretch = static_cast<std::ptrdiff_t>(element_bytes);
  Stretches result;
  result.count = box.count;  // less those that are steps within a stretch
  for (; result.count > 0; --result.count) {
    const CopyLoop& loop = box.loops[result.count - 1];
    if (loop.*side != stretch && loop.extent != 1) break;
    stretch *= loop.extent;
  }
  result.bytes = static_cast<std::size_t>(stretch);
  for (std::size_t i = result.count; i-- > 0; stretch *= box.loops[i].extent) {
    result.loops[i] = {box.loops[i].extent, box.loops[i].*side, stretch};
    box.loops[i].*side = stretch;
  }
  return result;
}

// Calls use(mapped, staged) for each stretch, in the order of the loops.
template <typename Mapped, typename Use>
void for_each_stretch(std::span<const CopyLoop> loops, Mapped* mapped, std::byte* staged, const Use& use) {
  if (loops.empty()) return use(mapped, staged);
  for (std::int64_t i = 0; i < loops[0].extent; ++i, mapped += loops[0].from, staged += loops[0].to)
    for_each_stretch(loops.subspan(1), mapped, staged, use);
}

}  // namespace

void copy_box(std::size_t element_bytes, CopyBox box, const std::byte* from, std::byte* to,
              unsigned threads) {
  tidy(box);
  const std::int64_t bytes = byte_count(box, element_bytes);
  if (bytes == 0) return;
  const std::int64_t pieces = std::min<std::int64_t>(bytes / kBytesPerThread, 4 * worker_count(threads));
  if (threads != 1 && pieces > 1) return copy_parallel(element_bytes, box, from, to, threads, pieces);
  const Plane plane = take_plane(box, element_bytes);
  sort_outer(box);
  copy_outer(box, 0, plane, from, to);
}

void stage_box(std::size_t element_bytes, CopyBox& box, const std::byte* from, std::byte* staging,
               const MappingFile& file) {
  if (byte_count(box, element_bytes) == 0) return;
  const Stretches stretches = stage_side(element_bytes, box, &CopyLoop::from);
  for_each_stretch(std::span(stretches.loops).first(stretches.count), from, staging,
                   [&](const std::byte* mapped, std::byte* staged) {
                     file.read({mapped, stretches.bytes}, staged);
                   });
}

void copy_box_between(std::size_t element_bytes, CopyBox box, const std::byte* from, std::byte* to,
                      const std::optional<MappingFile>& from_file, const std::optional<MappingFile>& to_file,
                      std::span<std::byte> buffer) {
  const auto bytes = static_cast<std::size_t>(byte_count(box, element_bytes));
  if (bytes == 0) return;
  if (from_file) {
    stage_box(element_bytes, box, from, buffer.data(), *from_file);
    from = buffer.data();
  }
  if (!to_file) return copy_box(element_bytes, box, from, to, 1);
  std::byte* const staging = buffer.data() + bytes;
  const Stretches stretches = stage_side(element_bytes, box, &CopyLoop::to);
  copy_box(element_bytes, box, from, staging, 1);
  for_each_stretch(std::span(stretches.loops).first(stretches.count), to, staging,
                   [&](std::byte* mapped, std::byte* staged) {
                     to_file->write({staged, stretches.bytes}, mapped);
                   });
}

}  // namespace opdump::math
