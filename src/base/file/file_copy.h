// Moving bytes between files without holding them in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/file/file.h"
#include "base/result.h"

namespace opdump {

// A part of a file, in bytes.
struct FileRange {
  std::filesystem::path file;
  std::uint64_t offset = 0, bytes = 0;
};

// A new, empty file with `mode`, open for writing. What was called `path` before is removed, not followed:
// a link there never decides what is written. Errors: io, not_found.
Result<Fd> create_file(const std::filesystem::path& path, unsigned mode);

// Writes `first` and, behind it, `second` at the descriptor's position. Errors: io.
Result<> write_both(const Fd& fd, std::span<const std::byte> first, std::span<const std::byte> second,
                    const std::filesystem::path& path);

// Appends `text` to `path` in one piece; makes the file if it is missing. A link is refused. Errors: io.
Result<> append_file(const std::filesystem::path& path, std::string_view text, unsigned mode);

// Appends `range` to `to`, in the kernel where file systems allow that. `path` names `to` in messages.
// Errors: io; corrupt -- the file ends within the range.
Result<> copy_range(const FileRange& range, const Fd& to, const std::filesystem::path& path);

// Overwrites what lies at `offset`. Errors: io.
Result<> write_at(const Fd& fd, std::uint64_t offset, std::span<const std::byte> bytes,
                  const std::filesystem::path& path);

}  // namespace opdump
