#include "terminal/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "base/file/file.h"
#include "base/text/printable.h"
#include "terminal/held_output.h"

namespace opdump::terminal {
namespace {

constexpr std::string_view kColours[] = {"\033[0m", "\033[32m", "\033[1;31m", "\033[35m", "\033[33m"};

std::string printable(std::string_view text, Escapes escapes, bool keeps_colours = false) {
  std::string shown;
  append_printable(shown, text, escapes,
                   keeps_colours ? std::span(kColours) : std::span<const std::string_view>());
  return shown;
}

Colour wanted_colour = Colour::automatic;

volatile std::sig_atomic_t status_when_unread = 0;
void end_unread(int) { ::_exit(status_when_unread); }

}  // namespace

void print(std::string_view text) { held_output().write(printable(text, Escapes::text, wants_colour())); }

void print_json(std::string_view text) { held_output().write(printable(text, Escapes::json)); }

void print_log(std::string_view text) {
  const std::string shown = printable(text, Escapes::text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

void print_error(std::string_view message) {
  held_output().release();
  std::fflush(stdout);  // the answer so far comes before the error where both go to one terminal
  print_log("opdump: " + std::string(message) + "\n");
}

void print_remark(LogLevel level, std::string_view line) {
  print_error(level == LogLevel::warning ? "warning: " + std::string(line) : std::string(line));
}

Result<> flush_output() {
  held_output().release();
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return io_error("stdout", "write");
  return ok();
}

void end_when_unread(int status) {
  status_when_unread = status;
  if (std::signal(SIGPIPE, end_unread) == SIG_IGN) std::signal(SIGPIPE, SIG_IGN);
}

bool prints_to_terminal() { return held_output().has_pager() || ::isatty(STDOUT_FILENO) == 1; }

std::size_t terminal_width() {
  struct winsize size {};
  const int out = held_output().has_pager() ? STDERR_FILENO : STDOUT_FILENO;
  if (!prints_to_terminal() || ::ioctl(out, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

void set_colour(Colour colour) { wanted_colour = colour; }

bool wants_colour() {
  if (wanted_colour != Colour::automatic) return wanted_colour == Colour::always;
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return prints_to_terminal();
}

}  // namespace opdump::terminal
