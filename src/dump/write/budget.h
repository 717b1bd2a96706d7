// A bound on what a recording writes: a number of bytes, and never more than the disk has free, of which a
// twentieth stays free. Each process of a run has a budget of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "dump/write/scheme_writer.h"

namespace opdump::dump {

// A budget without a limit of its own: the free space; or one that leaves most of it to others, the lesser of
// a fifth and 10 GiB.
inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t kModest = kUnlimited - 1;

// What may be written into `directory`, which need not exist yet: what its disk has free, less a twentieth.
// Errors: io -- the system does not say.
Result<std::uint64_t> writable_bytes(const std::filesystem::path& directory);

// Before a recording. Errors: usage -- `limit_bytes` is more than may be written, the disk is full, or its
// file system cannot be written; io.
Result<> check_budget(std::uint64_t limit_bytes, const std::filesystem::path& directory);

// Thread-safe.
class Budget {
 public:
  // A limit that is larger than the free space is the free space: the recording has begun. What takes
  // `freed_bytes` is about to be removed.
  Budget(std::uint64_t limit_bytes, std::filesystem::path directory, std::uint64_t freed_bytes = 0);

  // Counts bytes that are about to be written. Errors: limit -- they exceed the budget; not counted.
  Result<> spend(std::uint64_t bytes);

  std::uint64_t spent() const { return spent_; }
  // What may still be written now; others fill the disk, too.
  std::uint64_t left() const;
  // "3.1 GiB are left of the budget of 20.0 GiB", or "3.1 GiB are free".
  std::string describe_left() const;

 private:
  Result<std::uint64_t> writable() const;

  const std::filesystem::path directory_;
  std::uint64_t limit_bytes_;
  bool is_free_space_;
  std::atomic<std::uint64_t> spent_{0};
  const std::uint64_t freed_bytes_;
};

// A writer that counts what `scheme` writes: the files of tensors and calls in blocks of 4 KiB, rows of
// statistics by an estimate, `row_bytes` each, or as many as a line of a table has. What exceeds the budget
// is an error, like a full disk.
std::unique_ptr<SchemeWriter> limit_writes(std::unique_ptr<SchemeWriter> scheme,
                                           std::shared_ptr<Budget> budget,
                                           std::optional<std::uint64_t> row_bytes = {});

}  // namespace opdump::dump
