// Writing the elements of tensors into a file from its start to its end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/file/file.h"
#include "base/result.h"
#include "model/tensor_view.h"

namespace opdump::dump {

// Elements that are copied or converted at once: they stay in the cache.
inline constexpr std::uint64_t kBlockCount = 64 << 10;

// Writes a file from its start to its end. A large one goes past the page cache where the file system allows
// it: filling fresh pages takes a machine several times as long as the disk takes to write them, and it
// pushes the watched program's own pages out of memory. Where it is not allowed, the disk is kept busy from
// the first piece on: left alone, the kernel gathers written pages until there are too many and then stops
// every writer.
class StreamWriter {
 public:
  // `header` goes out with the first write(): small files need one call of the system. `total_bytes` is how
  // large the file will be about; only the way to the disk depends on it.
  StreamWriter(const Fd& fd, std::string_view header, const std::filesystem::path& path,
               std::uint64_t total_bytes);

  // Errors: io.
  Result<> write(std::span<const std::byte> bytes);

  // After the last write(), or instead of any. Errors: io.
  Result<> finish();

 private:
  Result<> write_piece(std::span<const std::byte> bytes);
  Result<> gather(std::span<const std::byte> bytes);
  Result<> write_gathered();
  Result<std::size_t> write_directly(std::span<const std::byte> bytes);
  void leave_direct();
  void start_disk();

  const Fd& fd_;
  std::string_view header_;  // what is left of it
  const std::filesystem::path& path_;
  std::span<std::byte> buffer_;  // the thread's; empty for small files: what is written goes out as it comes
  std::size_t gathered_ = 0;     // bytes in it that are not written yet
  bool is_direct_ = false;       // past the page cache
  std::uint64_t written_ = 0;    // given to the system
  std::uint64_t started_ = 0;    // on its way to the disk
  std::uint64_t done_ = 0;       // on the disk, and out of memory
};

// Writes the elements in row-major order, as they are. Row-major ones go to the system straight from the
// caller's memory; others pass through a buffer of at most 1 MiB. Errors: io.
Result<> write_elements(StreamWriter& writer, const model::TensorView& view);

// Calls use(piece) for consecutive parts of `view` in row-major order, of at most `max_count` elements. Not
// for packed types.
template <typename F>
Result<> for_each_piece(const model::TensorView& view, std::uint64_t max_count, const F& use) {
  const std::uint64_t count = view.element_count();
  if (count <= max_count) return use(view);
  const auto rows = view.shape.dims();
  const auto strides = view.strides.dims();
  const std::uint64_t row_count = count / static_cast<std::uint64_t>(rows[0]);
  const auto step = static_cast<std::int64_t>(std::max<std::uint64_t>(1, max_count / row_count));
  for (std::int64_t row = 0; row < rows[0]; row += step) {
    model::TensorView piece = view;
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

}  // namespace opdump::dump
