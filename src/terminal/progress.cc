#include "terminal/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/text/text.h"

namespace opdump::terminal {
namespace {

constexpr std::size_t kBarWidth = 30;

void write_bar(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string label)
    : label_(std::move(label)),
      is_terminal_(is_shown()),
      next_draw_(Clock::now() + std::chrono::seconds(1)) {}

bool Progress::is_shown() { return ::isatty(STDERR_FILENO) == 1; }

Progress::~Progress() {
  if (has_drawn_) write_bar("\r\033[K");
}

void Progress::update(std::uint64_t done_bytes, std::uint64_t total_bytes) {
  if (!is_terminal_ || total_bytes == 0) return;
  const auto now = Clock::now();
  if (now < next_draw_) return;
  next_draw_ = now + std::chrono::milliseconds(100);
  has_drawn_ = true;
  const double share = std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
  const auto filled = static_cast<std::size_t>(share * kBarWidth);
  write_bar("\r" + label_ + " [" + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "] " +
            std::to_string(static_cast<int>(share * 100)) + "% of " + format_bytes(total_bytes) + "\033[K");
}

LiveLine::LiveLine()
    : is_terminal_(Progress::is_shown()), next_draw_(Clock::now() + std::chrono::seconds(1)) {}

LiveLine::~LiveLine() {
  if (has_drawn_) write_bar("\r\033[K");
}

void LiveLine::show(std::string_view text) {
  const auto now = Clock::now();
  if (!is_terminal_ || now < next_draw_) return;
  next_draw_ = now + std::chrono::milliseconds(100);
  has_drawn_ = true;
  write_bar("\r" + std::string(text) + "\033[K");
}

}  // namespace opdump::terminal
