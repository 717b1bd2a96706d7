// A file that is written piece by piece and takes the place of another one when it is whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/file/file.h"
#include "base/result.h"

namespace opdump {

class FileReplacement {
 public:
  // Begins a file beside `path`, which it replaces in the end, whatever is called so: a link there never
  // decides what is written. For names that opdump has made. Errors: io, not_found.
  static Result<FileReplacement> begin(const std::filesystem::path& path, unsigned mode);
  // The same for a name that the user has chosen: a link stays, and what it leads to is replaced; a device, a
  // pipe and the program's own stdout and stderr are written to as they are.
  static Result<FileReplacement> begin_named(const std::filesystem::path& path, unsigned mode);
  FileReplacement(FileReplacement&& other) noexcept;
  FileReplacement& operator=(FileReplacement&& other) noexcept;
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;
  ~FileReplacement();  // what was not finished is removed

  // Errors: io.
  Result<> append(std::string_view text);
  // For those who write otherwise than by append(), and then not by append() at all.
  const Fd& fd() const { return fd_; }
  Result<> finish();  // to be called once, last

 private:
  FileReplacement(std::filesystem::path path, std::filesystem::path temporary, Fd fd, bool is_nameless);
  Result<> name_it();
  std::filesystem::path path_;
  std::filesystem::path temporary_;  // none after finish(), and where the file itself is written
  Fd fd_;
  bool is_nameless_ = false;  // a process that is killed leaves nothing then
  std::string buffer_;        // not written yet
};

// Writes all of a file that the user has named, as FileReplacement::begin_named.
Result<> write_named_file(const std::filesystem::path& path, std::string_view text, unsigned mode);

// Replaces `path` by `text` so that a reader sees the old file or the new one, never a part.
Result<> write_file_atomic(const std::filesystem::path& path, std::string_view text, unsigned mode);

// Makes `path` another name of the file `target` if both are files of the same bytes, and not one file yet.
// Returns how many bytes that saves, 0 if nothing was changed. Errors: io.
Result<std::uint64_t> replace_by_link(const std::filesystem::path& path, const std::filesystem::path& target);

}  // namespace opdump
