// A file that is written piece by piece and takes the place of another one when it is whole.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/result.h"

namespace opdump {

class FileReplacement {
 public:
  // Begins a file beside `path`, which it replaces in the end. Errors: io.
  static Result<FileReplacement> begin(const std::filesystem::path& path, unsigned mode);
  FileReplacement(FileReplacement&& other) noexcept;
  FileReplacement& operator=(FileReplacement&& other) noexcept;
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;
  ~FileReplacement();  // what was not finished is removed

  // Errors: io.
  Result<> append(std::string_view text);
  Result<> finish();  // to be called once, last

 private:
  FileReplacement(std::filesystem::path path, std::filesystem::path temporary, Fd fd);
  std::filesystem::path path_, temporary_;  // none after finish()
  Fd fd_;
  std::string buffer_;  // not written yet
};

}  // namespace opdump
