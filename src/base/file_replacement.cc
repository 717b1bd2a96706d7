#include "base/file_replacement.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

namespace opdump {

FileReplacement::FileReplacement(std::filesystem::path path, std::filesystem::path temporary, Fd fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

FileReplacement::FileReplacement(FileReplacement&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::move(other.fd_)) {}

FileReplacement::~FileReplacement() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<FileReplacement> FileReplacement::begin(const std::filesystem::path& path, unsigned mode) {
  std::filesystem::path temporary = path.string() + ".tmp" + std::to_string(::getpid());
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (!fd) return io_error(temporary, "create");
  return FileReplacement(path, std::move(temporary), std::move(fd));
}

Result<> FileReplacement::append(std::string_view text) const {
  return write_all(fd_, std::as_bytes(std::span(text)), temporary_);
}

Result<> FileReplacement::finish() {
  fd_ = Fd();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return io_error(path_, "rename");
  temporary_.clear();
  return ok();
}

}  // namespace opdump
