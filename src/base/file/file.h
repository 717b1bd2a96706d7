// Files: the only place that calls open, mmap, rename. Each resource has one RAII type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/file/fd.h"
#include "base/result.h"

namespace opdump {

// A file that is open for reading, and its size in bytes as the system states it (0 for files of /proc).
struct InputFile {
  Fd fd;
  std::uint64_t size = 0;
};

// Opens a regular file for reading; every reader of a file that somebody else made begins here. A directory,
// a device, a socket or a named pipe is refused at once: opening a pipe would wait for ever for its writer.
// `flags` are further flags of open(2). Errors: not_found; io.
Result<InputFile> open_input(const std::filesystem::path& path, int flags = 0);

// All of a regular file. Errors: not_found, io, limit (larger than `limit_bytes`).
Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t limit_bytes);

// Creates `path` and its missing parents with `mode`. An existing directory is fine.
Result<> make_directories(const std::filesystem::path& path, unsigned mode);

// A file, or a part of one, mapped read-only; a small one is read. No bytes give an empty span.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  // `size` bytes at `offset`. Errors: corrupt -- the file does not have them.
  static Result<MappedFile> open_part(const std::string& path, std::uint64_t offset, std::uint64_t size);
  MappedFile(MappedFile&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})),
        whole_(std::exchange(other.whole_, {})),
        room_(std::move(other.room_)) {}
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes, std::shared_ptr<const void> room = nullptr)
      : bytes_(bytes), whole_(bytes), room_(std::move(room)) {}
  static Result<MappedFile> map(const Fd& fd, std::size_t size, const std::string& path);
  std::span<const std::byte> bytes_, whole_;  // of which bytes_ are a part
  std::shared_ptr<const void> room_;          // base/file/map_room.h; null for copies and large files
};

}  // namespace opdump
