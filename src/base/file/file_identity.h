// Which file something is, whatever its names: its device and its number there.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>

#include "base/file/file.h"

namespace opdump {

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

inline FileIdentity identify(const struct stat& info) { return {info.st_dev, info.st_ino}; }

// Nothing if there is no such file, or the descriptor is closed.
inline std::optional<FileIdentity> identify(const Fd& fd) {
  struct stat info {};
  return fd && ::fstat(fd.get(), &info) == 0 ? std::optional(identify(info)) : std::nullopt;
}
// A relative path is one below `directory`. Links are followed, or not: then they are files of their own.
inline std::optional<FileIdentity> identify(const std::filesystem::path& path, bool follows_links = true,
                                            int directory = AT_FDCWD) {
  struct stat info {};
  const int flags = follows_links ? 0 : AT_SYMLINK_NOFOLLOW;
  return ::fstatat(directory, path.c_str(), &info, flags) == 0 ? std::optional(identify(info)) : std::nullopt;
}

}  // namespace opdump
