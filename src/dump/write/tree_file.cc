#include "dump/write/tree_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "format/tables/mapping_csv.h"
#include "format/tables/statistic_csv.h"

namespace opdump::dump {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY;
constexpr int kAppend = O_RDWR | O_APPEND | O_NOFOLLOW;

Error removed_or_io_error(const std::filesystem::path& path, std::string_view what) {
  if (errno == ENOENT)
    return {Code::io, path.parent_path().string() + ": the directory was removed while recording"};
  return {Code::io, io_error(path, what).message()};
}

// Ends a torn last line or writes the header. Several processes may open the file at once.
Result<> prepare_append(const Fd& fd, std::string_view header, const std::filesystem::path& path) {
  ::flock(fd.get(), LOCK_EX);  // a file system without locks: then only one process is safe
  Result<> result = ok();
  struct stat info {};
  char last = '\n';
  if (::fstat(fd.get(), &info) != 0)
    result = io_error(path, "stat");
  else if (info.st_size == 0)
    result = write_all(fd, std::as_bytes(std::span(header)), path);
  else if (::pread(fd.get(), &last, 1, info.st_size - 1) == 1 && last != '\n')
    result = write_all(fd, std::as_bytes(std::span("\n", 1)), path);
  ::flock(fd.get(), LOCK_UN);
  return result;
}

Result<> remove_name(const OpenDirectory& directory, const std::string& name) {
  if (::unlinkat(directory.fd.get(), name.c_str(), 0) == 0 || errno == ENOENT) return ok();
  return removed_or_io_error(directory.path / name, "replace");
}

Error created_again(const OpenDirectory& directory, const std::string& name) {
  return {Code::io, (directory.path / name).string() + ": another process keeps creating it"};
}

// Adds the lines of one table to another of its kind.
Result<> append_table(const std::filesystem::path& from, const std::filesystem::path& to, bool has_header) {
  OPDUMP_TRY(const MappedFile file, MappedFile::open(from));
  std::string_view rows(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  const std::size_t header_end = has_header ? rows.find('\n') : std::string_view::npos;
  const std::string_view header = header_end == std::string_view::npos ? "" : rows.substr(0, header_end + 1);
  rows.remove_prefix(header.size());
  OPDUMP_TRY(const Fd fd, open_append(to, header));
  OPDUMP_CHECK_OK(write_all(fd, std::as_bytes(std::span(rows)), to));
  if (::unlink(from.c_str()) != 0) return io_error(from, "remove");
  return ok();
}

}  // namespace

Result<> move_directory(const std::filesystem::path& from, const std::filesystem::path& to) {
  OPDUMP_CHECK_OK(make_directories(to.parent_path(), 0700));
  if (::rename(from.c_str(), to.c_str()) == 0 || errno == ENOENT) return ok();
  if (errno != ENOTEMPTY && errno != EEXIST) return io_error(from, "move");
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(from, failed)) {
    const std::filesystem::path target = to / entry.path().filename();
    const std::string name = entry.path().filename().string();
    const bool is_statistics = name == format::kStatisticCsvName;
    if (is_statistics || name == format::kMappingCsvName) {
      OPDUMP_CHECK_OK(append_table(entry.path(), target, is_statistics));
    } else if (::rename(entry.path().c_str(), target.c_str()) != 0) {
      return io_error(entry.path(), "move");
    }
  }
  if (failed || ::rmdir(from.c_str()) != 0) return io_error(from, "remove");
  return ok();
}

Result<OpenDirectory> open_directory(const std::filesystem::path& path) {
  OPDUMP_CHECK_OK(make_directories(path, 0700));
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return Error(Code::io, io_error(path, "open directory").message());
  return OpenDirectory{KeptFile(std::move(fd), path, kDirectory), path};
}

Result<OpenDirectory> open_root(const std::filesystem::path& path) {
  OPDUMP_CHECK_OK(make_directories(path, 0700));
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return Error(Code::io, io_error(path, "open directory").message());
  return OpenDirectory{KeptFile(std::move(fd), path, kDirectory), path};
}

Result<OpenDirectory> open_below(const OpenDirectory& top, const std::filesystem::path& relative) {
  Fd fd;
  std::filesystem::path path = top.path;
  for (const std::filesystem::path& name : relative) {
    const int parent = fd ? fd.get() : top.fd.get();
    path /= name;
    const auto open = [&] { return Fd(::openat(parent, name.c_str(), kDirectory | O_NOFOLLOW | O_CLOEXEC)); };
    Fd below = open();  // most exist already
    if (!below && errno == ENOENT) {
      if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST)
        return removed_or_io_error(path, "create directory");
      below = open();
    }
    if (!below) return removed_or_io_error(path, "open directory");
    fd = std::move(below);
  }
  return OpenDirectory{KeptFile(std::move(fd), path, kDirectory), std::move(path)};
}

Result<> check_in_place(const OpenDirectory& directory) {
  if (directory.fd.is_in_place()) return ok();
  return Error(Code::io, directory.path.string() + ": the directory was removed while recording");
}

Result<std::optional<Fd>> create_new(const OpenDirectory& directory, const std::string& name) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Fd fd(::openat(directory.fd.get(), name.c_str(), flags, 0400));
  if (fd) return std::optional(std::move(fd));
  if (errno == EEXIST) return std::optional<Fd>();
  return removed_or_io_error(directory.path / name, "create");
}

Result<Fd> create_replacing(const OpenDirectory& directory, const std::string& name) {
  for (int attempt = 0; attempt < 3; ++attempt) {  // another process may be replacing the same name
    OPDUMP_TRY(std::optional<Fd> fd, create_new(directory, name));
    if (fd) return std::move(*fd);
    OPDUMP_CHECK_OK(remove_name(directory, name));
  }
  return created_again(directory, name);
}

Result<> replace_file(const OpenDirectory& directory, const std::string& name, std::string_view text) {
  const std::string temporary = name + ".tmp" + std::to_string(::getpid());
  const std::filesystem::path path = directory.path / name;
  {
    OPDUMP_TRY(const Fd fd, create_replacing(directory, temporary));
    if (auto written = write_all(fd, std::as_bytes(std::span(text)), path); !written) {
      remove_file(directory, temporary);
      return Error(Code::io, written.error().message());
    }
  }
  if (::renameat(directory.fd.get(), temporary.c_str(), directory.fd.get(), name.c_str()) == 0) return ok();
  Error error = removed_or_io_error(path, "replace");
  remove_file(directory, temporary);
  return error;
}

Result<bool> link_new(const OpenDirectory& directory, const std::string& name,
                      const std::filesystem::path& target) {
  if (::linkat(AT_FDCWD, target.c_str(), directory.fd.get(), name.c_str(), 0) == 0) return true;
  if (errno == EEXIST) return false;
  return removed_or_io_error(directory.path / name, "link to " + target.string());
}

Result<> link_replacing(const OpenDirectory& directory, const std::string& name,
                        const std::filesystem::path& target) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    OPDUMP_TRY(const bool linked, link_new(directory, name, target));
    if (linked) return ok();
    const auto old = identify(name, false, directory.fd.get());
    if (old && old == identify(target, false))
      return ok();  // removing the name could remove the last one of the file
    OPDUMP_CHECK_OK(remove_name(directory, name));
  }
  return created_again(directory, name);
}

void remove_file(const OpenDirectory& directory, const std::string& name) {
  ::unlinkat(directory.fd.get(), name.c_str(), 0);
}

namespace {

Result<Fd> open_to_append(const std::filesystem::path& path) {
  const int flags = kAppend | O_CREAT | O_CLOEXEC;
  Fd fd(::open(path.c_str(), flags, 0600));
  if (!fd && errno == EACCES && ::chmod(path.c_str(), 0600) == 0)  // 0400: an earlier run closed it
    fd = Fd(::open(path.c_str(), flags, 0600));
  if (!fd) return removed_or_io_error(path, "open");
  ::fchmod(fd.get(), 0600);
  return fd;
}

}  // namespace

Result<Fd> open_append(const std::filesystem::path& path, std::string_view header) {
  OPDUMP_TRY(Fd fd, open_to_append(path));
  OPDUMP_CHECK_OK(prepare_append(fd, header, path));
  return fd;
}

Result<KeptFile> keep_append_bytes(const std::filesystem::path& path) {
  OPDUMP_TRY(Fd fd, open_to_append(path));
  return KeptFile(std::move(fd), path, kAppend);
}

Result<KeptFile> keep_append(const std::filesystem::path& path, std::string_view header) {
  OPDUMP_TRY(Fd fd, open_append(path, header));
  return KeptFile(std::move(fd), path, kAppend);
}

Result<> hold_append(Fd& fd, const std::filesystem::path& path) {
  const auto found = identify(path);
  if (!found) return removed_or_io_error(path, "open");
  if (found == identify(fd)) return ok();
  OPDUMP_TRY(Fd opened, open_append(path, ""));
  leave_open(std::exchange(fd, move_high(std::move(opened))));
  return ok();
}

}  // namespace opdump::dump
