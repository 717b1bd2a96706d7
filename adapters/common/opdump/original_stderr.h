// Where messages of a recording go. Shared by the adapters that record Python programs.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace opdump {

// The stderr that the process began with, or that of the start of recording if nobody has kept it. A program
// may put another file under the descriptor, in which nothing of ours may appear.
class OriginalStderr {
 public:
  // The first call counts.
  void keep(int original) {
    if (fd_ >= 0) return;
    constexpr int kHigh = 768;  // what programs open seldom has such a number
    fd_ = ::fcntl(original, F_DUPFD_CLOEXEC, kHigh);
    if (fd_ < 0) fd_ = ::fcntl(original, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fd_ >= 0 && ::fstat(fd_, &file_) != 0) fd_ = -1;
  }

  void print(const char* line) const {
    const std::string text = std::string("opdump: ") + line + "\n";
    for (const int fd : {fd_, STDERR_FILENO}) {
      struct stat now {};
      if (fd < 0 || ::fstat(fd, &now) != 0 || now.st_dev != file_.st_dev || now.st_ino != file_.st_ino)
        continue;
      if (::write(fd, text.data(), text.size()) < 0) continue;
      return;
    }
  }

 private:
  int fd_ = -1;
  struct stat file_ {};
};

}  // namespace opdump
