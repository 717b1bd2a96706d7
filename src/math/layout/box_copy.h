// Copies elements from one set of arbitrary strides to another: the core of every layout conversion.
// Internal to math/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/file/resident.h"

namespace opdump::math {

struct CopyLoop {
  std::int64_t extent = 1;
  std::ptrdiff_t from = 0, to = 0;  // bytes from one element to the next
};

struct CopyBox {
  static constexpr std::size_t kMaxLoops = 12;
  std::array<CopyLoop, kMaxLoops> loops{};
  std::size_t count = 0;  // no loop at all is one element
};

// Copies the elements of `box` of 1, 2, 4, 8 or 16 bytes. No two of them may have the same target. Uses up to
// `threads` threads if the box is large.
void copy_box(std::size_t element_bytes, CopyBox box, const std::byte* from, std::byte* to, unsigned threads);

// Reads what copy_box() would copy from `from` into `staging`, which has room for it, a stretch at a time,
// and makes the box one that copies from there.
void stage_box(std::size_t element_bytes, CopyBox& box, const std::byte* from, std::byte* staging,
               const MappingFile& file);

// copy_box() on one thread between files: `from_file` and `to_file` are those that `from` and `to` are mapped
// from, if they are; reads and writes then pass by the mappings. `buffer` has room for the elements twice.
void copy_box_between(std::size_t element_bytes, CopyBox box, const std::byte* from, std::byte* to,
                      const std::optional<MappingFile>& from_file, const std::optional<MappingFile>& to_file,
                      std::span<std::byte> buffer);

}  // namespace opdump::math
