// A progress bar for people: on stderr, only if that is a terminal, and only once the work has taken a
// second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace opdump::terminal {

class Progress {
 public:
  explicit Progress(std::string label);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // wipes the bar

  // Whether there is a terminal that could show one.
  static bool is_shown();

  // Call it as often as you like: it draws at most ten times a second. Not thread-safe.
  void update(std::uint64_t done_bytes, std::uint64_t total_bytes);

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  bool is_terminal_, has_drawn_ = false;
  Clock::time_point next_draw_;
};

}  // namespace opdump::terminal
