#include "dump/tensor_stream.h"

#include <fcntl.h>
#include <sys/uio.h>

#include <cerrno>
#include <vector>

#include "math/strided_copy.h"

namespace opdump::dump {
namespace {

constexpr std::uint64_t kPieceBytes = 4 << 20;         // one write of a large file
constexpr std::uint64_t kWriteBehindBytes = 32 << 20;  // at most so much of a file waits for the disk

}  // namespace

Result<> StreamWriter::write(std::span<const std::byte> bytes) {
  do {
    const auto piece = bytes.first(std::min<std::uint64_t>(bytes.size(), kPieceBytes));
    OPDUMP_CHECK_OK(write_piece(piece));
    bytes = bytes.subspan(piece.size());
    start_disk();
  } while (!bytes.empty());
  return ok();
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
