#include "format/tensors/write_behind.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file/file.h"

namespace opdump::format {
namespace {

constexpr std::uint64_t kPieceBytes = 4 << 20;         // one write
constexpr std::uint64_t kWriteBehindBytes = 32 << 20;  // at most so much waits for the disk

off64_t to_offset(std::uint64_t bytes) { return static_cast<off64_t>(bytes); }

}  // namespace

Result<> WriteBehind::write(int descriptor, std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const std::size_t count = std::min<std::uint64_t>(bytes.size(), kPieceBytes);
    const ssize_t n = ::pwrite(descriptor, bytes.data(), count, to_offset(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("data", "write");
    start_disk(descriptor, offset, offset + static_cast<std::uint64_t>(n));
    offset += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return ok();
}

// Advice only: a file system that knows nothing of it writes as it always does.
void WriteBehind::start_disk(int descriptor, std::uint64_t begin, std::uint64_t end) {
  ::sync_file_range(descriptor, to_offset(begin), to_offset(end - begin), SYNC_FILE_RANGE_WRITE);
  if (end <= done_ + kWriteBehindBytes) return;
  const std::uint64_t until = end - kWriteBehindBytes;
  ::sync_file_range(descriptor, to_offset(done_), to_offset(until - done_),
                    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  ::posix_fadvise(descriptor, to_offset(done_), to_offset(until - done_), POSIX_FADV_DONTNEED);
  done_ = until;
}

}  // namespace opdump::format
