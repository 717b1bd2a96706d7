// Writing large pieces into a file at given places. Left alone, the kernel gathers written pages until there
// are too many and then stops every writer; measured, that is several times slower than keeping the disk busy
// from the first piece on, and it pushes the watched program's own pages out of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/file.h"
#include "base/result.h"

namespace opdump::format {

class WriteBehind {
 public:
  WriteBehind() = default;
  explicit WriteBehind(Fd fd) : fd_(std::move(fd)) {}

  // Writes at `offset`, which is usually behind what was written before. Errors: io, with the system's words.
  Result<> write(std::span<const std::byte> bytes, std::uint64_t offset);

 private:
  void start_disk(std::uint64_t begin, std::uint64_t end);

  Fd fd_;
  std::uint64_t done_ = 0;  // up to here on the disk, and out of memory
};

}  // namespace opdump::format
