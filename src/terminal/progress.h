// Progress on stderr: a bar, or a line of words. It appears only if stderr is a terminal, and only if the
// work takes longer than a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace opdump::terminal {

class Progress {
 public:
  explicit Progress(std::string label);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // wipes the bar

  // True if a terminal can show it.
  static bool is_shown();

  // May be called often: it draws at most ten times a second. Not thread-safe.
  void update(std::uint64_t done_bytes, std::uint64_t total_bytes);

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  bool is_terminal_, has_drawn_ = false;
  Clock::time_point next_draw_;
};

// A line that changes, for work of unknown length.
class LiveLine {
 public:
  LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;
  ~LiveLine();  // wipes the line

  // May be called often. Not thread-safe.
  void show(std::string_view text);

 private:
  using Clock = std::chrono::steady_clock;
  bool is_terminal_, has_drawn_ = false;
  Clock::time_point next_draw_;
};

}  // namespace opdump::terminal
