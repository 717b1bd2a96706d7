#include "arrays/file.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "base/file/file_replacement.h"
#include "format/tensors/npy.h"
#include "format/tensors/torch/torch_file.h"

namespace opdump::arrays {
namespace fs = std::filesystem;
namespace {

constexpr unsigned kMode = 0600;
constexpr std::uint64_t kSmallBytes = 1 << 20;    // fewer are written in one piece
constexpr std::uint64_t kCopiedBytes = 64 << 20;  // in one step

// Lets `write` fill a file that is called `path` once it is whole.
Result<> write_new(const fs::path& path, const std::function<Result<>(const Fd&)>& write) {
  OPDUMP_TRY(FileReplacement file, FileReplacement::begin(path, kMode));
  OPDUMP_CHECK_OK(write(file.fd()));
  return file.finish();
}

Result<> write_small(const std::string& header, Array& array, const Fd& fd, const fs::path& path) {
  OPDUMP_TRY(auto piece, array.pieces->next());
  OPDUMP_CHECK_OK(write_both(fd, std::as_bytes(std::span(header)), piece, path));
  while (!piece.empty()) {
    OPDUMP_TRY(piece, array.pieces->next());
    OPDUMP_CHECK_OK(write_all(fd, piece, path));
  }
  return ok();
}

Result<> write_with_header(const std::string& header, Array& array, const fs::path& path) {
  return write_new(path, [&](const Fd& fd) -> Result<> {
    if (array.byte_count() <= kSmallBytes) return write_small(header, array, fd, path);
    OPDUMP_CHECK_OK(write_all(fd, std::as_bytes(std::span(header)), path));
    if (!array.pieces->can_scatter()) return write_pieces(array, fd, path);
    return array.pieces->scatter([&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<> {
      OPDUMP_CHECK_OK(write_at(fd, header.size() + offset, bytes, path));
      array.note_written(bytes.size());
      return ok();
    });
  });
}

// In steps, so that somebody learns how far it is.
Result<> copy_whole(FileRange range, const Array& array, const Fd& fd, const fs::path& path) {
  for (std::uint64_t left = range.bytes; left > 0; range.offset += range.bytes, left -= range.bytes) {
    range.bytes = std::min(left, kCopiedBytes);
    OPDUMP_CHECK_OK(copy_range(range, fd, path));
    array.note_written(range.bytes);
  }
  return ok();
}

}  // namespace

Result<> write_pieces(Array& array, const Fd& fd, const fs::path& path) {
  if (auto range = array.pieces->range()) return copy_whole(std::move(*range), array, fd, path);
  for (;;) {
    OPDUMP_TRY(const auto piece, array.pieces->next());
    if (piece.empty()) return ok();
    OPDUMP_CHECK_OK(write_all(fd, piece, path));
    array.note_written(piece.size());
  }
}

Result<> write_npy(Array& array, bool is_fortran, const fs::path& path) {
  OPDUMP_TRY(std::string header,
             format::encode_npy_header(array.dtype, array.shape, format::NpySpelling::numpy));
  if (is_fortran) {
    // "True " would be a byte longer: the padding behind the dictionary gives it.
    const std::size_t at = header.find("False");
    header.replace(at, 5, "True");
    header.insert(header.size() - 1, " ");
  }
  return write_with_header(header, array, path);
}

Result<> write_elements(Array& array, const fs::path& path) { return write_with_header("", array, path); }

Result<> write_torch(Array& array, const fs::path& path) {
  OPDUMP_TRY(const format::TorchTensor tensor, format::describe_torch_tensor(array.dtype, array.shape));
  return write_new(path, [&](const Fd& fd) -> Result<> {
    format::TorchFileWriter writer(fd, path);
    OPDUMP_CHECK_OK(writer.begin(tensor));
    for (;;) {
      OPDUMP_TRY(const auto piece, array.pieces->next());
      if (piece.empty()) return writer.end();
      OPDUMP_CHECK_OK(writer.add(piece));
      array.note_written(piece.size());
    }
  });
}

}  // namespace opdump::arrays
