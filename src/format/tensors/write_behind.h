// Writing large pieces into a file at given places. Left alone, the kernel gathers written pages until there
// are too many and then stops every writer; measured, that is several times slower than keeping the disk busy
// from the first piece on, and it pushes the watched program's own pages out of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace opdump::format {

class WriteBehind {
 public:
  // Writes at `offset`, which is usually behind what was written before, into the file behind `descriptor`,
  // which is the same in each call. Errors: io, with the system's words.
  Result<> write(int descriptor, std::span<const std::byte> bytes, std::uint64_t offset);

 private:
  void start_disk(int descriptor, std::uint64_t begin, std::uint64_t end);

  std::uint64_t done_ = 0;  // up to here on the disk, and out of memory
};

}  // namespace opdump::format
