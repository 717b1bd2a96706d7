// The time of day, as file names and status files have it.
#pragma once

#include <chrono>
#include <cstdint>

namespace opdump::capture {

// Microseconds since the Unix epoch.
inline std::uint64_t now_us() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      duration_cast<microseconds>(system_clock::now().time_since_epoch()).count());
}

}  // namespace opdump::capture
