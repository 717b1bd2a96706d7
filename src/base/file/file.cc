#include "base/file/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "base/file/map_room.h"
#include "base/file/resident.h"

namespace opdump {
namespace {

constexpr std::size_t kCopiedBytes = 32 << 10;  // smaller files are read: mapping and unmapping costs more
constexpr std::size_t kLeastCopy = 4 << 10;

// The memory of copies that this thread has no more use for: asking for new one with each file costs more
// than reading it.
class SpareCopies {
 public:
  std::unique_ptr<std::byte[]> take(std::size_t size) {
    auto& spares = of(size);
    if (spares.empty()) return std::unique_ptr<std::byte[]>(new std::byte[room_of(size)]);
    auto copy = std::move(spares.back());
    spares.pop_back();
    return copy;
  }

  void give(std::unique_ptr<std::byte[]> copy, std::size_t size) {
    if (auto& spares = of(size); spares.size() < kMost) spares.push_back(std::move(copy));
  }

 private:
  static constexpr std::size_t kMost = 2;

  static std::size_t room_of(std::size_t size) { return std::bit_ceil(std::max(size, kLeastCopy)); }
  std::vector<std::unique_ptr<std::byte[]>>& of(std::size_t size) {
    return spares_[static_cast<std::size_t>(std::countr_zero(room_of(size) / kLeastCopy))];
  }

  std::array<std::vector<std::unique_ptr<std::byte[]>>, std::bit_width(kCopiedBytes / kLeastCopy)> spares_;
};
thread_local SpareCopies spare_copies;

Error became_shorter(const std::string& path) { return Error(Code::corrupt, path + ": it became shorter"); }

// A new copy of `size` bytes of a file, which may have become shorter.
Result<std::span<const std::byte>> read_copy(const Fd& fd, std::uint64_t offset, std::size_t size,
                                             const std::string& path) {
  std::unique_ptr<std::byte[]> copy = spare_copies.take(size);
  for (std::size_t at = 0; at < size;) {
    const ssize_t n = ::pread(fd.get(), copy.get() + at, size - at, static_cast<off_t>(offset + at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(path, "read");
    if (n == 0) return became_shorter(path);
    at += static_cast<std::size_t>(n);
  }
  return std::span<const std::byte>(copy.release(), size);
}

// What a path that is no regular file leads to.
std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Error not_regular(const std::filesystem::path& path, mode_t mode) {
  return {Code::io, path.string() + ": this is " + std::string(kind_of(mode)) + "; expected a regular file"};
}

}  // namespace

Result<InputFile> open_input(const std::filesystem::path& path, int flags) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags));
  struct stat info {};
  if (!fd) {
    const int number = errno;
    if (::stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) return not_regular(path, info.st_mode);
    errno = number;
    return io_error(path, "open");
  }
  if (::fstat(fd.get(), &info) != 0) return io_error(path, "stat");
  if (!S_ISREG(info.st_mode)) return not_regular(path, info.st_mode);
  return InputFile{std::move(fd), static_cast<std::uint64_t>(info.st_size)};
}

Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t limit_bytes) {
  OPDUMP_TRY(const InputFile file, open_input(path));
  const auto too_large = [&] {
    return Error(Code::limit, path.string() + ": larger than " + std::to_string(limit_bytes) + " bytes");
  };
  if (file.size > limit_bytes) return too_large();  // at once; those of /proc say that they are empty
  const Fd& fd = file.fd;
  std::string text;
  char buffer[64 * 1024];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n == 0) return text;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(path, "read");
    if (text.size() + static_cast<std::size_t>(n) > limit_bytes) return too_large();
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

Result<> make_directories(const std::filesystem::path& path, unsigned mode) {
  if (path.empty() || path == path.root_path()) return ok();
  if (::mkdir(path.c_str(), mode) == 0) return ok();
  if (errno == ENOENT) {
    OPDUMP_CHECK_OK(make_directories(path.parent_path(), mode));
    if (::mkdir(path.c_str(), mode) == 0) return ok();
  }
  struct stat info {};
  if (errno == EEXIST && ::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return ok();
    errno = ENOTDIR;
  }
  return io_error(path, "create directory");
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  OPDUMP_TRY(const InputFile file, open_input(path));
  if (file.size == 0) return MappedFile({});
  if (file.size > kCopiedBytes) return map(file.fd, file.size, path);
  OPDUMP_TRY(const auto bytes, read_copy(file.fd, 0, file.size, path));
  return MappedFile(bytes);
}

Result<MappedFile> MappedFile::open_part(const std::string& path, std::uint64_t offset, std::uint64_t size) {
  OPDUMP_TRY(const InputFile file, open_input(path));
  if (offset > file.size || size > file.size - offset) return became_shorter(path);
  if (size == 0) return MappedFile({});
  if (size <= kCopiedBytes) {
    OPDUMP_TRY(const auto bytes, read_copy(file.fd, offset, size, path));
    return MappedFile(bytes);
  }
  OPDUMP_TRY(MappedFile mapped, map(file.fd, offset + size, path));
  mapped.bytes_ = mapped.whole_.subspan(offset, size);
  return mapped;
}

Result<MappedFile> MappedFile::map(const Fd& fd, std::size_t size, const std::string& path) {
  if (size < kMostInRoom)
    if (auto mapping = map_into_room(fd, size)) return MappedFile(mapping->bytes, std::move(mapping->room));
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (address == MAP_FAILED) return io_error(path, "map");
  const std::span mapped(static_cast<const std::byte*>(address), size);
  note_mapping(mapped, fd);
  return MappedFile(mapped);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(whole_, other.whole_);
  std::swap(room_, other.room_);
  return *this;
}

MappedFile::~MappedFile() {
  auto* const address = const_cast<std::byte*>(whole_.data());
  if (whole_.empty() || room_) return;
  if (whole_.size() <= kCopiedBytes) {
    spare_copies.give(std::unique_ptr<std::byte[]>(address), whole_.size());
    return;
  }
  forget_mapping(whole_);
  ::munmap(address, whole_.size());
}

}  // namespace opdump
