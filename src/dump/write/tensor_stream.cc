#include "dump/write/tensor_stream.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "math/layout/strided_copy.h"

namespace opdump::dump {
namespace {

constexpr std::uint64_t kPieceBytes = 4 << 20;         // one write of a large file
constexpr std::uint64_t kWriteBehindBytes = 32 << 20;  // at most so much of a file waits for the disk
constexpr std::uint64_t kDirectBytes = 2 << 20;        // of a file that goes past the page cache
constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::size_t kDiskBlockBytes = 4096;  // any disk's blocks are as large or divide it

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

// What a disk can read from: aligned memory, one piece for each thread that writes. Empty if there is none.
std::span<std::byte> thread_buffer() {
  thread_local const std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(kDiskBlockBytes, kBufferBytes)));
  return {memory.get(), memory ? kBufferBytes : 0};
}

bool set_direct(const Fd& fd, bool is_direct) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  return flags >= 0 && ::fcntl(fd.get(), F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

}  // namespace

StreamWriter::StreamWriter(const Fd& fd, std::string_view header, const std::filesystem::path& path,
                           std::uint64_t total_bytes)
    : fd_(fd), header_(header), path_(path) {
  if (total_bytes < kDirectBytes || !set_direct(fd_, true)) return;
  buffer_ = thread_buffer();
  is_direct_ = true;
  if (buffer_.empty()) leave_direct();
}

Result<> StreamWriter::write(std::span<const std::byte> bytes) {
  if (!buffer_.empty()) {
    OPDUMP_CHECK_OK(gather(std::as_bytes(std::span(std::exchange(header_, {})))));
    return gather(bytes);
  }
  do {
    const auto piece = bytes.first(std::min<std::uint64_t>(bytes.size(), kPieceBytes));
    OPDUMP_CHECK_OK(write_piece(piece));
    bytes = bytes.subspan(piece.size());
    start_disk();
  } while (!bytes.empty());
  return ok();
}

Result<> StreamWriter::finish() {
  if (!header_.empty()) OPDUMP_CHECK_OK(write({}));
  const std::size_t rest = gathered_ % kDiskBlockBytes;  // less than a block of the disk's
  const std::span<const std::byte> tail = buffer_.subspan(gathered_ - rest, rest);
  gathered_ -= rest;
  OPDUMP_CHECK_OK(write_gathered());
  if (tail.empty()) return ok();
  leave_direct();
  return write_piece(tail);
}

Result<> StreamWriter::gather(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), buffer_.size() - gathered_));
    std::memcpy(buffer_.data() + gathered_, part.data(), part.size());
    gathered_ += part.size();
    bytes = bytes.subspan(part.size());
    if (gathered_ == buffer_.size()) OPDUMP_CHECK_OK(write_gathered());
  }
  return ok();
}

Result<> StreamWriter::write_gathered() {
  std::span<const std::byte> bytes = buffer_.first(std::exchange(gathered_, 0));
  if (is_direct_) {
    OPDUMP_TRY(const std::size_t done, write_directly(bytes));
    bytes = bytes.subspan(done);
  }
  if (bytes.empty()) return ok();
  OPDUMP_CHECK_OK(write_piece(bytes));
  start_disk();
  return ok();
}

// How many bytes are written. A file system that takes the flag may refuse the write, and one that is full
// writes a part: what is left then goes the ordinary way, which also knows the reason if it fails.
Result<std::size_t> StreamWriter::write_directly(std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (is_direct_ && done < bytes.size()) {
    const ssize_t n = ::write(fd_.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EINVAL) return Error(Code::io, io_error(path_, "write").message());
    done += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    if (n <= 0 || done % kDiskBlockBytes != 0) leave_direct();
  }
  written_ += done;
  return done;
}

void StreamWriter::leave_direct() {
  if (std::exchange(is_direct_, false)) set_direct(fd_, false);
}

Result<> StreamWriter::write_piece(std::span<const std::byte> bytes) {
  while (!header_.empty() || !bytes.empty()) {
    const iovec parts[] = {{const_cast<char*>(header_.data()), header_.size()},
                           {const_cast<std::byte*>(bytes.data()), bytes.size()}};
    const ssize_t n = ::writev(fd_.get(), parts, 2);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error(Code::io, io_error(path_, "write").message());
    written_ += static_cast<std::uint64_t>(n);
    const std::size_t of_header = std::min(header_.size(), static_cast<std::size_t>(n));
    header_.remove_prefix(of_header);
    bytes = bytes.subspan(static_cast<std::size_t>(n) - of_header);
  }
  return ok();
}

// Advice only: a file system that knows nothing of it writes as it always does.
void StreamWriter::start_disk() {
  if (written_ - started_ < kPieceBytes) return;
  const auto offset = [](std::uint64_t bytes) { return static_cast<off64_t>(bytes); };
  ::sync_file_range(fd_.get(), offset(started_), offset(written_ - started_), SYNC_FILE_RANGE_WRITE);
  started_ = written_;
  if (started_ - done_ <= kWriteBehindBytes) return;
  const std::uint64_t end = started_ - kWriteBehindBytes;
  ::sync_file_range(fd_.get(), offset(done_), offset(end - done_),
                    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  ::posix_fadvise(fd_.get(), offset(done_), offset(end - done_), POSIX_FADV_DONTNEED);
  done_ = end;
}

Result<> write_elements(StreamWriter& writer, const model::TensorView& view) {
  if (view.element_count() == 0) return writer.write({});
  if (view.is_contiguous()) return writer.write({view.data, view.byte_count()});
  std::vector<std::byte> buffer(
      std::min(view.byte_count(), kBlockCount * (model::dtype_info(view.dtype).bits / 8)));
  return for_each_piece(view, kBlockCount, [&](const model::TensorView& piece) -> Result<> {
    const auto bytes = std::span(buffer).first(piece.byte_count());
    math::copy_row_major(piece, bytes);
    return writer.write(bytes);
  });
}

}  // namespace opdump::dump
