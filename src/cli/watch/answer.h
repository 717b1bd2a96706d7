// What `opdump watch` says, for people and for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/watch/reason.h"
#include "dump/read/dump_set.h"
#include "dump/watch_file.h"

namespace opdump::cli {

// Increases when a key changes its meaning or is removed; new keys may be added at any time.
inline constexpr int kWatchSchemaVersion = 1;

// How the largest magnitude of an input changed before the alarm.
struct Trend {
  std::string slot{};
  std::vector<std::pair<std::int64_t, double>> values{};  // by step
  std::size_t since = 0;                                  // in values: where it was smallest last

  double factor() const;    // of the last value to that one
  double per_step() const;  // the same, of one step
};

struct WatchAnswer {
  std::string kind{};      // of dump::Alarm, or "exit" or "signal" of the program; empty: nothing to say
  std::string sentence{};  // what happened
  std::optional<std::int64_t> step{};
  std::uint32_t rank = 0;
  std::optional<dump::OperatorRun> run{};  // of the operator to look at: it did it, or was the last one
  std::string slot{};                      // of it, with what is not finite; may be empty
  std::vector<SlotExtent> extents{};       // of the run's tensors
  WatchReason reason{};
  std::optional<Trend> trend{};
  std::int64_t first_step = -1, last_step = -1;  // in the dump; -1: none
  std::int64_t watched_steps = 0;
  std::uint64_t skipped_count = 0;  // see dump::Watched
  std::vector<std::string> notes{};

  bool has_fired() const { return !kind.empty(); }
};

// How the program ended, as of waitpid().
std::string describe_program_end(int status);

// Of what the ranks of a program have recorded. Errors: io.
Result<WatchAnswer> judge_watched(const dump::DumpSet& dump, int status);

// Several lines. `folder` has the dump; empty: it is removed.
std::string format_watch(const WatchAnswer& answer, const std::string& folder);

// One JSON object in one line.
std::string watch_json(const WatchAnswer& answer, const std::string& folder, int status);

}  // namespace opdump::cli
