#include "base/spill.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file_copy.h"
#include "base/nameless_file.h"

namespace opdump {
namespace {

constexpr std::size_t kHeldBytes = 2 << 20;

}  // namespace

void Spill::append(std::string_view bytes) {
  newest_ += bytes;
  if (newest_.size() < kHeldBytes || is_full_) return;
  is_full_ = !write_newest();
}

Result<> Spill::write_newest() {
  if (!file_) {
    OPDUMP_TRY(file_, open_nameless(nameless_directory()));
  }
  OPDUMP_CHECK_OK(write_at(file_, written_, std::as_bytes(std::span(newest_)), nameless_directory()));
  written_ += newest_.size();
  newest_.clear();
  return ok();
}

Result<> Spill::read(std::uint64_t at, std::span<char> to) const {
  while (!to.empty() && at < written_) {
    const std::size_t wanted = std::min<std::uint64_t>(to.size(), written_ - at);
    const ssize_t got = ::pread(file_.get(), to.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return io_error(nameless_directory(), "read what was put aside");
    at += static_cast<std::uint64_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
  if (!to.empty()) newest_.copy(to.data(), to.size(), at - written_);
  return ok();
}

}  // namespace opdump
