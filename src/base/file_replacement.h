// A file that is written piece by piece and takes the place of another one when it is whole.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/file.h"
#include "base/result.h"

namespace opdump {

class FileReplacement {
 public:
  // Begins a file beside `path`, which it replaces in the end. Errors: io.
  static Result<FileReplacement> begin(const std::filesystem::path& path, unsigned mode);
  FileReplacement(FileReplacement&& other) noexcept;
  FileReplacement& operator=(FileReplacement&&) = delete;
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;
  ~FileReplacement();  // what was not finished is removed

  // Errors: io.
  Result<> append(std::string_view text) const;
  Result<> finish();

 private:
  FileReplacement(std::filesystem::path path, std::filesystem::path temporary, Fd fd);
  std::filesystem::path path_, temporary_;  // none after finish()
  Fd fd_;
};

}  // namespace opdump
