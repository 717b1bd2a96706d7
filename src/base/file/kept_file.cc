#include "base/file/kept_file.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <utility>

namespace opdump {
namespace {

// Kept files get descriptors near kHighest: a program that opens files does not reach these, and they do not
// make its table of descriptors large, which fork() copies.
constexpr rlim_t kHighest = 4096, kRoom = 256;

int first_high_number() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t end = std::min(limit.rlim_cur, kHighest);
  return static_cast<int>(end > 2 * kRoom ? end - kRoom : end / 2);
}

}  // namespace

Fd move_high(Fd fd) {
  if (!fd) return fd;
  Fd high(::fcntl(fd.get(), F_DUPFD_CLOEXEC, first_high_number()));
  return high ? std::move(high) : std::move(fd);
}

void leave_open(Fd fd) {
  alignas(Fd) std::array<std::byte, sizeof(Fd)> never_closed;
  new (never_closed.data()) Fd(std::move(fd));
}

KeptFile::KeptFile(Fd fd, std::filesystem::path path, int flags)
    : fd_(move_high(std::move(fd))), path_(std::move(path)), flags_(flags), identity_(identify(fd_)) {}

KeptFile::KeptFile(KeptFile&& other) noexcept { *this = std::move(other); }

KeptFile& KeptFile::operator=(KeptFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(flags_, other.flags_);
  std::swap(identity_, other.identity_);
  return *this;
}

KeptFile::~KeptFile() { let_go(); }

bool KeptFile::is_held() const {
  const auto held = identify(fd_);
  return held && held == identity_;
}

bool KeptFile::is_in_place() const {
  const auto found = fd_ ? identify(path_) : std::nullopt;
  return found && found == identity_;
}

// What the program has opened under the number stays open.
void KeptFile::let_go() {
  if (fd_ && !is_held()) leave_open(std::move(fd_));
}

Result<const Fd*> KeptFile::use() {
  if (is_held()) return &fd_;
  let_go();
  Fd fd(::open(path_.c_str(), flags_ | O_CLOEXEC));
  const auto found = identify(fd);
  if (!found) return Error(Code::io, io_error(path_, "open").message());
  if (found != identity_) return Error(Code::io, path_.string() + ": it was removed while recording");
  fd_ = move_high(std::move(fd));
  return &fd_;
}

}  // namespace opdump
