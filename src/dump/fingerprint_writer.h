// Writes rows of statistics and hashes to rank_{R}/fingerprints.bin (format/tables/fingerprints.h) instead of
// tables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/result.h"
#include "dump/write/scheme_writer.h"

namespace opdump::dump {

// A writer that does all else by `scheme`, a rank tree (dump/write/rank_tree.h) in which `rank_directory` is.
// A file that is there is added to, also by several processes. Rows need statistics and an MD5. Errors: io.
Result<std::unique_ptr<SchemeWriter>> write_fingerprints(std::unique_ptr<SchemeWriter> scheme,
                                                         const std::filesystem::path& rank_directory);

// What a row takes in the file, at most on average.
inline constexpr std::uint64_t kFingerprintRowBytes = 40;

}  // namespace opdump::dump
