// The yardsticks of the benchmarks: everything is printed as a ratio to a plain read or a memcpy of the same
// memory in the same run, because a number of seconds says nothing about another machine.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace opdump::bench {

// The shortest of several runs, in seconds: whatever else the machine does only ever adds time.
template <typename Work>
double best_seconds(Work work, double at_least_seconds = 0.5, int at_least_runs = 5) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30, total = 0;
  for (int run = 0; run < at_least_runs || total < at_least_seconds; ++run) {
    const auto begin = Clock::now();
    work();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

// Reads every byte and does as little as possible with it. The benchmarks are compiled for the machine they
// are built on, so this is a loop of vector additions.
inline std::uint64_t plain_read(const void* memory, std::size_t bytes) {
  const auto* words = static_cast<const std::uint64_t*>(memory);
  std::uint64_t sums[32] = {};
  for (std::size_t i = 0; i + 32 <= bytes / 8; i += 32)
    for (std::size_t k = 0; k < 32; ++k) sums[k] += words[i + k];
  std::uint64_t sum = 0;
  for (const std::uint64_t part : sums) sum += part;
  return sum;
}

// Keeps a result alive although nobody uses it.
template <typename T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

inline void print_row(const char* name, double seconds, std::size_t bytes, const char* yardstick,
                      double yardstick_seconds) {
  std::printf("  %-40s %8.2f GB/s  %4.0f %% of %s\n", name, static_cast<double>(bytes) / seconds / 1e9,
              100 * yardstick_seconds / seconds, yardstick);
}

}  // namespace opdump::bench
