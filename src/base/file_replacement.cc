#include "base/file_replacement.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <span>
#include <string>
#include <utility>

namespace opdump {

FileReplacement::FileReplacement(std::filesystem::path path, std::filesystem::path temporary, Fd fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

FileReplacement::FileReplacement(FileReplacement&& other) noexcept { *this = std::move(other); }

FileReplacement& FileReplacement::operator=(FileReplacement&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(fd_, other.fd_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

FileReplacement::~FileReplacement() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<FileReplacement> FileReplacement::begin(const std::filesystem::path& path, unsigned mode) {
  std::filesystem::path temporary = path.string() + ".tmp" + std::to_string(::getpid());
  ::unlink(temporary.c_str());  // of a process that was killed, or a link that leads elsewhere
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd) return io_error(temporary, "create");
  return FileReplacement(path, std::move(temporary), std::move(fd));
}

Result<> FileReplacement::append(std::string_view text) {
  constexpr std::size_t kBuffered = 64 << 10;
  buffer_ += text;
  if (buffer_.size() < kBuffered) return ok();
  OPDUMP_CHECK_OK(write_all(fd_, std::as_bytes(std::span(buffer_)), temporary_));
  buffer_.clear();
  return ok();
}

Result<> FileReplacement::finish() {
  OPDUMP_CHECK_OK(write_all(fd_, std::as_bytes(std::span(buffer_)), temporary_));
  fd_ = Fd();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return io_error(path_, "rename");
  temporary_.clear();
  return ok();
}

}  // namespace opdump
