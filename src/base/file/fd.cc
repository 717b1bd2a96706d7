#include "base/file/fd.h"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace opdump {

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Error io_error(const std::filesystem::path& path, std::string_view what) {
  const int number = errno;
  const Code code = number == ENOENT || number == ENOTDIR ? Code::not_found : Code::io;
  return {code, path.string() + ": " + std::string(what) + ": " + std::generic_category().message(number)};
}

Result<> write_all(const Fd& fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(path, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return ok();
}

}  // namespace opdump
