// An open file of the system.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace opdump {

// An owned file descriptor; -1 when empty.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// "No space left on device" and the like for the current errno. `what` names the call's object.
Error io_error(const std::filesystem::path& path, std::string_view what);

// Writes all of `bytes` at the descriptor's position, through short writes and EINTR.
Result<> write_all(const Fd& fd, std::span<const std::byte> bytes, const std::filesystem::path& path);

}  // namespace opdump
