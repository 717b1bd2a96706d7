#include "dump/npy_file.h"

#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <vector>

#include "format/npy.h"
#include "math/convert.h"
#include "math/strided_copy.h"

namespace opdump::dump {
namespace {

using model::DType;
using model::TensorView;

constexpr std::uint64_t kPieceBytes = 4 << 20;         // one write of a large file
constexpr std::uint64_t kWriteBehindBytes = 32 << 20;  // at most so much of a file waits for the disk
constexpr std::uint64_t kConvertCount = 64 << 10;      // elements converted at once: they stay in the cache

DType stored_dtype(DType dtype) {
  switch (dtype) {
    case DType::bfloat16:
      return DType::float32;
    case DType::int4:
      return DType::int8;
    case DType::uint1:
      return DType::uint8;
    default:
      return dtype;
  }
}

// Writes a file from its start to its end. Left alone, the kernel gathers written pages until there are too
// many and then stops every writer; measured, that is several times slower than keeping the disk busy from
// the first piece on, and it pushes the watched program's own pages out of memory.
class StreamWriter {
 public:
  StreamWriter(const Fd& fd, std::string_view header, const std::filesystem::path& path)
      : fd_(fd), header_(header), path_(path) {}

  Result<> write(std::span<const std::byte> bytes) {
    do {
      const auto piece = bytes.first(std::min<std::uint64_t>(bytes.size(), kPieceBytes));
      OPDUMP_CHECK_OK(write_piece(piece));
      bytes = bytes.subspan(piece.size());
      start_disk();
    } while (!bytes.empty());
    return ok();
  }

 private:
  // The header goes out with the first piece: small files need one call.
  Result<> write_piece(std::span<const std::byte> bytes) {
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
  void start_disk() {
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

  const Fd& fd_;
  std::string_view header_;  // what is left of it
  const std::filesystem::path& path_;
  std::uint64_t written_ = 0;  // given to the system
  std::uint64_t started_ = 0;  // on its way to the disk
  std::uint64_t done_ = 0;     // on the disk, and out of memory
};

// Calls use(piece) for consecutive parts of `view` in row-major order, of at most `max_count` elements.
template <typename F>
Result<> for_each_piece(const TensorView& view, std::uint64_t max_count, const F& use) {
  const std::uint64_t count = view.element_count();
  if (count <= max_count) return use(view);
  const auto rows = view.shape.dims();
  const auto strides = view.strides.dims();
  const std::uint64_t row_count = count / static_cast<std::uint64_t>(rows[0]);
  const auto step = static_cast<std::int64_t>(std::max<std::uint64_t>(1, max_count / row_count));
  for (std::int64_t row = 0; row < rows[0]; row += step) {
    TensorView piece = view;
    piece.data += row * strides[0] * (model::dtype_info(view.dtype).bits / 8);
    if (step == 1) {
      piece.shape = model::Shape(rows.subspan(1));
      piece.strides = model::Shape(strides.subspan(1));
    } else {
      piece.shape.dims()[0] = std::min(step, rows[0] - row);
    }
    OPDUMP_CHECK_OK(for_each_piece(piece, max_count, use));
  }
  return ok();
}

Result<> write_packed(StreamWriter& writer, const TensorView& view) {
  const std::uint64_t count = view.element_count();
  const bool is_int4 = view.dtype == DType::int4;
  std::vector<std::int8_t> wide(std::min(count, kConvertCount));
  for (std::uint64_t first = 0; first < count; first += kConvertCount) {
    const std::uint64_t n = std::min(count - first, kConvertCount);
    if (is_int4)
      math::unpack_int4(view.data + first / 2, wide.data(), n);
    else
      math::unpack_uint1(view.data + first / 8, reinterpret_cast<std::uint8_t*>(wide.data()), n);
    OPDUMP_CHECK_OK(writer.write(std::as_bytes(std::span(wide).first(n))));
  }
  return ok();
}

Result<> write_bfloat16(StreamWriter& writer, const TensorView& view) {
  const std::uint64_t count = std::min(view.element_count(), kConvertCount);
  std::vector<std::uint16_t> narrow(count);
  std::vector<float> wide(count);
  return for_each_piece(view, kConvertCount, [&](const TensorView& piece) -> Result<> {
    const std::uint64_t n = piece.element_count();
    math::copy_row_major(piece, std::as_writable_bytes(std::span(narrow).first(n)));
    math::widen_bfloat16(narrow.data(), wide.data(), n);
    return writer.write(std::as_bytes(std::span(wide).first(n)));
  });
}

Result<> write_strided(StreamWriter& writer, const TensorView& view) {
  std::vector<std::byte> buffer(
      std::min(view.byte_count(), kConvertCount * (model::dtype_info(view.dtype).bits / 8)));
  return for_each_piece(view, kConvertCount, [&](const TensorView& piece) -> Result<> {
    const auto bytes = std::span(buffer).first(piece.byte_count());
    math::copy_row_major(piece, bytes);
    return writer.write(bytes);
  });
}

}  // namespace

Result<std::string> npy_header_for(const TensorView& view) {
  return format::encode_npy_header(stored_dtype(view.dtype), view.shape);
}

Result<> write_npy(const Fd& fd, std::string_view header, const TensorView& view,
                   const std::filesystem::path& path) {
  StreamWriter writer(fd, header, path);
  if (view.element_count() == 0) return writer.write({});
  if (view.dtype == DType::int4 || view.dtype == DType::uint1) return write_packed(writer, view);
  if (view.dtype == DType::bfloat16) return write_bfloat16(writer, view);
  if (view.is_contiguous()) return writer.write({view.data, view.byte_count()});
  return write_strided(writer, view);
}

}  // namespace opdump::dump
