// opdump_watch.json beside the status: what a recording that watches the program (opdump watch) has to say.
// Written when it begins, at an alarm, and when it ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace opdump::dump {

inline constexpr std::string_view kWatchFileName = "opdump_watch.json";

// Why the recording ended.
struct Alarm {
  // "not_finite": an operator made a NaN or an infinity; "outer_nan": a NaN that no operator made reached a
  // gradient or a weight; "scaler": a GradScaler found no scale that gives finite gradients; "exception": one
  // that ended the program; "alarm", "spike": the program said so. Empty: there was none.
  std::string kind{};
  std::int64_t step = -1;
  std::string operator_name{};  // full; may be empty
  std::string slot{};           // "output.0" of the operator: it has the first NaN or infinity
  std::string text{};           // of the program
  std::uint64_t time_us = 0;    // since the Unix epoch
};

struct Watched {
  std::uint64_t kept_steps = 0;  // the last so many
  std::uint64_t skipped_count =
      0;                         // of updates whose gradients were not finite, and that a GradScaler skipped
  std::int64_t first_step = -1;  // that is kept; -1: none has ended
  Alarm alarm{};
};

// Replaces the file in the directory of a rank. Errors: io.
Result<> write_watch_file(const std::filesystem::path& rank_directory, const Watched& watched);

// Errors: not_found -- the rank's recording does not watch; io, corrupt.
Result<Watched> read_watch_file(const std::filesystem::path& rank_directory);

}  // namespace opdump::dump
