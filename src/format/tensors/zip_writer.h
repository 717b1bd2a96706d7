// A ZIP archive of uncompressed files, written in order to a seekable file, as by numpy.savez and torch.save.
// Files and archives of 4 GiB and more are ZIP64.
// Spec: APPNOTE.TXT 6.3 of PKWARE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/file/file.h"
#include "base/result.h"

namespace opdump::format {

class ZipWriter {
 public:
  // `fd` is open for writing at its start and stays open; `path` is for messages.
  ZipWriter(const Fd& fd, std::filesystem::path path) : fd_(fd), path_(std::move(path)) {}

  // Begins a file of exactly `bytes` bytes, whose first one is at a multiple of `alignment` in the archive.
  Result<> begin(std::string_view name, std::uint64_t bytes, std::size_t alignment = 1);
  Result<> add(std::span<const std::byte> bytes);
  // Ends the file. Errors: internal -- it is not as long as announced.
  Result<> end();
  // Ends the archive.
  Result<> finish();

 private:
  struct Entry {
    std::string name;
    std::uint64_t bytes = 0, offset = 0;
    std::uint32_t crc = 0;
  };
  static std::string directory_entry(const Entry& entry);
  Result<> put(std::string_view text);
  void add_to_sum(std::span<const std::byte> bytes);

  const Fd& fd_;
  std::filesystem::path path_;
  Entry entry_;            // that is being written
  std::string directory_;  // of those before it
  std::uint64_t count_ = 0, position_ = 0, left_ = 0;
};

}  // namespace opdump::format
