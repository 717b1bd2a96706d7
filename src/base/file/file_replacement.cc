#include "base/file/file_replacement.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/file/file_copy.h"
#include "base/file/file_identity.h"

namespace opdump {
namespace {

// An open file in the folder of `path` that has no name yet, or none where the file system has no such files.
Fd open_nameless_beside(const std::filesystem::path& path, unsigned mode) {
  static const bool can_be_named = ::access("/proc/self/fd", X_OK) == 0;
  if (!can_be_named) return {};
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return Fd(::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode));
}

bool give_name(const Fd& nameless, const std::filesystem::path& path) {
  const std::string source = "/proc/self/fd/" + std::to_string(nameless.get());
  return ::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

// Beside `path`, with its name where that leaves room.
std::filesystem::path temporary_for(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  const std::string end = ".tmp" + std::to_string(::getpid());
  if (name.size() + end.size() > NAME_MAX) {
    const std::size_t hash = std::hash<std::string>{}(name);
    name.resize(NAME_MAX / 2);
    name += std::to_string(hash);
  }
  return path.parent_path() / (name + end);
}

// Our stdout or stderr, if `file` is one of them. Both are written where they are: what the shell has opened
// for them would otherwise be a file without a name.
Fd own_output(const struct stat& file) {
  for (const int number : {STDOUT_FILENO, STDERR_FILENO})
    if (struct stat own{}; ::fstat(number, &own) == 0 && identify(own) == identify(file))
      return Fd(::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  return {};
}

// Where a chain of links ends; what that leads to need not exist.
std::filesystem::path follow_links(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as the system has it
  std::error_code failed;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, failed); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, failed);
    if (failed) break;
    path = path.parent_path() / target;  // which is `target` if that is absolute
  }
  return path;
}

}  // namespace

FileReplacement::FileReplacement(std::filesystem::path path, std::filesystem::path temporary, Fd fd,
                                 bool is_nameless)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      fd_(std::move(fd)),
      is_nameless_(is_nameless) {}

FileReplacement::FileReplacement(FileReplacement&& other) noexcept { *this = std::move(other); }

FileReplacement& FileReplacement::operator=(FileReplacement&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(fd_, other.fd_);
  std::swap(is_nameless_, other.is_nameless_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

FileReplacement::~FileReplacement() {
  if (!temporary_.empty() && !is_nameless_) ::unlink(temporary_.c_str());
}

Result<FileReplacement> FileReplacement::begin(const std::filesystem::path& path, unsigned mode) {
  std::filesystem::path temporary = temporary_for(path);
  if (Fd nameless = open_nameless_beside(path, mode))
    return FileReplacement(path, std::move(temporary), std::move(nameless), true);
  OPDUMP_TRY(Fd fd, create_file(temporary, mode));  // one may be left of a process that was killed
  return FileReplacement(path, std::move(temporary), std::move(fd), false);
}

Result<FileReplacement> FileReplacement::begin_named(const std::filesystem::path& path, unsigned mode) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return begin(follow_links(path), mode);
  if (Fd fd = own_output(found)) return FileReplacement(path, {}, std::move(fd), false);
  if (S_ISREG(found.st_mode)) return begin(follow_links(path), mode);
  Fd fd(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  if (!fd) return io_error(path, "open");
  return FileReplacement(path, {}, std::move(fd), false);
}

Result<> FileReplacement::append(std::string_view text) {
  constexpr std::size_t kBuffered = 64 << 10;
  buffer_ += text;
  if (buffer_.size() < kBuffered) return ok();
  OPDUMP_CHECK_OK(write_all(fd_, std::as_bytes(std::span(buffer_)), path_));
  buffer_.clear();
  return ok();
}

Result<> FileReplacement::finish() {
  OPDUMP_CHECK_OK(write_all(fd_, std::as_bytes(std::span(buffer_)), path_));
  if (is_nameless_) return name_it();
  fd_ = Fd();
  if (temporary_.empty()) return ok();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return io_error(path_, "rename");
  temporary_.clear();
  return ok();
}

// A name that is taken must be replaced at once, which only a rename does.
Result<> FileReplacement::name_it() {
  if (!give_name(fd_, path_)) {
    if (errno != EEXIST) return io_error(path_, "create");
    ::unlink(temporary_.c_str());  // of a process with this number that was killed
    if (!give_name(fd_, temporary_)) return io_error(path_, "create");
    is_nameless_ = false;  // the destructor removes it
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) return io_error(path_, "rename");
  }
  fd_ = Fd();
  temporary_.clear();
  return ok();
}

Result<> write_named_file(const std::filesystem::path& path, std::string_view text, unsigned mode) {
  OPDUMP_TRY(FileReplacement file, FileReplacement::begin_named(path, mode));
  OPDUMP_CHECK_OK(file.append(text));
  return file.finish();
}

Result<> write_file_atomic(const std::filesystem::path& path, std::string_view text, unsigned mode) {
  OPDUMP_TRY(FileReplacement file, FileReplacement::begin(path, mode));
  OPDUMP_CHECK_OK(file.append(text));
  return file.finish();
}

Result<std::uint64_t> replace_by_link(const std::filesystem::path& path,
                                      const std::filesystem::path& target) {
  struct stat mine {
  }, other{};
  if (::lstat(path.c_str(), &mine) != 0 || ::lstat(target.c_str(), &other) != 0 || !S_ISREG(mine.st_mode) ||
      !S_ISREG(other.st_mode) || mine.st_size != other.st_size || mine.st_dev != other.st_dev ||
      mine.st_ino == other.st_ino)
    return std::uint64_t{0};
  OPDUMP_TRY(const MappedFile a, MappedFile::open(path.string()));
  OPDUMP_TRY(const MappedFile b, MappedFile::open(target.string()));
  if (!std::ranges::equal(a.bytes(), b.bytes())) return std::uint64_t{0};
  const std::filesystem::path temporary = path.string() + ".link-" + std::to_string(::getpid());
  if (::link(target.c_str(), temporary.c_str()) != 0) return std::uint64_t{0};  // not on this file system
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const Error failure = io_error(path, "rename");
    ::unlink(temporary.c_str());
    return failure;
  }
  return mine.st_nlink > 1 ? std::uint64_t{0} : static_cast<std::uint64_t>(mine.st_size);
}

}  // namespace opdump
