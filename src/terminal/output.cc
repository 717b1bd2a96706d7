#include "terminal/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/file/file.h"
#include "base/text/printable.h"

namespace opdump::terminal {
namespace {

constexpr std::string_view kColours[] = {"\033[0m", "\033[32m", "\033[1;31m", "\033[35m", "\033[33m"};

void write_printable(std::string_view text, Escapes escapes, std::FILE* out) {
  std::string shown;
  append_printable(shown, text, escapes, kColours);
  std::fwrite(shown.data(), 1, shown.size(), out);
}

}  // namespace

void print(std::string_view text) { write_printable(text, Escapes::text, stdout); }

void print_json(std::string_view text) { write_printable(text, Escapes::json, stdout); }

void print_log(std::string_view text) { write_printable(text, Escapes::text, stderr); }

void print_error(std::string_view message) {
  std::fflush(stdout);  // the answer so far comes before the error where both go to one terminal
  print_log("opdump: " + std::string(message) + "\n");
}

void print_remark(LogLevel level, std::string_view line) {
  print_error(level == LogLevel::warning ? "warning: " + std::string(line) : std::string(line));
}

Result<> flush_output() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return io_error("stdout", "write");
  return ok();
}

bool prints_to_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

std::size_t terminal_width() {
  struct winsize size {};
  if (!prints_to_terminal() || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return prints_to_terminal();
}

}  // namespace opdump::terminal
