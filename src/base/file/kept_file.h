// A file or directory that is held open for a long time inside somebody else's program, which may close
// descriptors that it did not open (os.closerange) and open files of its own under their numbers.
#pragma once

#include <filesystem>
#include <optional>

#include "base/file/file.h"
#include "base/file/file_identity.h"
#include "base/result.h"

namespace opdump {

// A descriptor with a number that programs seldom use, closed with exec. `fd` itself if there is none.
Fd move_high(Fd fd);

// Forgets a descriptor that is somebody else's by now.
void leave_open(Fd fd);

class KeptFile {
 public:
  KeptFile() = default;
  // `fd` is open at `path`, as open(path, flags) would have opened it.
  KeptFile(Fd fd, std::filesystem::path path, int flags);
  KeptFile(KeptFile&& other) noexcept;
  KeptFile& operator=(KeptFile&& other) noexcept;
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;
  ~KeptFile();

  explicit operator bool() const { return static_cast<bool>(fd_); }
  const std::filesystem::path& path() const { return path_; }

  int get() const { return fd_.get(); }
  // Whether the descriptor is still that of the file.
  bool is_held() const;
  // Whether the path still leads to the file.
  bool is_in_place() const;

  // The descriptor; opened anew if the program has closed it. Errors: io -- the file is no longer at its
  // path.
  Result<const Fd*> use();

 private:
  void let_go();
  Fd fd_;
  std::filesystem::path path_;
  int flags_ = 0;
  std::optional<FileIdentity> identity_;
};

}  // namespace opdump
