// A recording that is looked at while its program goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "dump/read/dump_set.h"
#include "dump/read/files/fingerprint_rows.h"

namespace opdump::cli {

// Whether all of a step is in the recording of each rank: files of one step are still written while the next
// one runs. Of a step that is alone there, the graph says so, which is written when the step ends.
bool has_ended(const dump::DumpSet& recording, std::int64_t step);

// Looks at a recording again and again, at intervals at which looking costs the machine little.
class Growth {
 public:
  explicit Growth(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // To be called often. Calls `look` with what is there, if it is time, and returns what that returned; else,
  // and while there is nothing to read, false.
  bool poll(const std::function<bool(dump::DumpSet& recording)>& look);

 private:
  using Clock = std::chrono::steady_clock;
  std::filesystem::path folder_;
  dump::FingerprintFiles read_;  // so that no look reads again what an earlier one has read
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(1);
};

// Where two recordings, of which one grows, are to be compared: what was seen to be the same to the last bit
// takes time, and says nothing. Without digests, that is everywhere.
class SameSoFar {
 public:
  // Returns the step before the first one that was not seen to be the same, as it made what that one reads.
  // Looks at what was added since the last time.
  std::int64_t look(dump::DumpSet& golden, dump::DumpSet& actual);

 private:
  std::int64_t end_ = 0;
};

}  // namespace opdump::cli
