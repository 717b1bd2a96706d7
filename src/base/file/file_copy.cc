#include "base/file/file_copy.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

namespace opdump {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;

// Copies with a buffer what is left of `range`. For file systems without copy_file_range.
Result<> copy_by_buffer(const Fd& from, FileRange range, const Fd& to, const std::filesystem::path& path) {
  std::vector<std::byte> buffer(std::min<std::uint64_t>(kPieceBytes, range.bytes));
  while (range.bytes > 0) {
    const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), range.bytes);
    const ssize_t n = ::pread(from.get(), buffer.data(), wanted, static_cast<off_t>(range.offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(range.file, "read");
    if (n == 0) return Error(Code::corrupt, range.file.string() + ": it became shorter");
    const auto got = static_cast<std::size_t>(n);
    OPDUMP_CHECK_OK(write_all(to, std::span(buffer).first(got), path));
    range.offset += got;
    range.bytes -= got;
  }
  return ok();
}

}  // namespace

Result<Fd> create_file(const std::filesystem::path& path, unsigned mode) {
  const auto create = [&] {
    return Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  };
  if (Fd fd = create()) return fd;
  if (errno != EEXIST) return io_error(path, "create");
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return io_error(path, "remove");
  Fd fd = create();
  if (!fd) return io_error(path, "create");
  return fd;
}

Result<> append_file(const std::filesystem::path& path, std::string_view text, unsigned mode) {
  const Fd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode));
  if (!fd) return io_error(path, "open");
  return write_all(fd, std::as_bytes(std::span(text)), path);
}

Result<> write_both(const Fd& fd, std::span<const std::byte> first, std::span<const std::byte> second,
                    const std::filesystem::path& path) {
  const auto part = [](std::span<const std::byte> bytes) {
    return iovec{const_cast<std::byte*>(bytes.data()), bytes.size()};
  };
  const std::array parts = {part(first), part(second)};
  const ssize_t n = ::writev(fd.get(), parts.data(), parts.size());
  const std::size_t done = n < 0 ? 0 : static_cast<std::size_t>(n);
  if (n < 0 && errno != EINTR) return io_error(path, "write");
  if (done < first.size()) OPDUMP_CHECK_OK(write_all(fd, first.subspan(done), path));
  return write_all(fd, second.subspan(done - std::min(done, first.size())), path);
}

Result<> copy_range(const FileRange& range, const Fd& to, const std::filesystem::path& path) {
  OPDUMP_TRY(const InputFile file, open_input(range.file));
  const Fd& from = file.fd;
  FileRange left = range;
  while (left.bytes > 0) {
    auto offset = static_cast<off_t>(left.offset);
    const std::size_t wanted = std::min<std::uint64_t>(left.bytes, std::uint64_t{1} << 30);
    const ssize_t n = ::copy_file_range(from.get(), &offset, to.get(), nullptr, wanted, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return copy_by_buffer(from, std::move(left), to, path);
    left.offset += static_cast<std::uint64_t>(n);
    left.bytes -= static_cast<std::uint64_t>(n);
  }
  return ok();
}

Result<> write_at(const Fd& fd, std::uint64_t offset, std::span<const std::byte> bytes,
                  const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(path, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return ok();
}

}  // namespace opdump
