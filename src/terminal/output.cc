#include "terminal/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/file.h"

namespace opdump::terminal {
namespace {

constexpr std::string_view kColours[] = {"\033[0m", "\033[32m", "\033[1;31m", "\033[35m", "\033[33m"};

// How many characters at the begin of `text` steer a terminal; 0 if it begins with something to show.
// U+0080 to U+009F do, too.
std::size_t control_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first == 0xc2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xa0) return 2;
  return (first < ' ' && first != '\n' && first != '\t') || first == 0x7f ? 1 : 0;
}

std::size_t colour_size(std::string_view text) {
  for (const std::string_view colour : kColours)
    if (text.starts_with(colour)) return colour.size();
  return 0;
}

void write_printable(std::string_view text, std::FILE* out) {
  std::size_t shown = 0;  // characters that are written
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t size = control_size(text.substr(i));
    if (size == 0) continue;
    if (const std::size_t colour = colour_size(text.substr(i)); colour > 0) {
      i += colour - 1;
      continue;
    }
    std::fwrite(text.data() + shown, 1, i - shown, out);
    std::fprintf(out, size == 1 ? "\\x%02x" : "\\u00%02x", static_cast<unsigned char>(text[i + size - 1]));
    shown = i + size;
    i = shown - 1;
  }
  std::fwrite(text.data() + shown, 1, text.size() - shown, out);
}

}  // namespace

void print(std::string_view text) { write_printable(text, stdout); }

void print_error(std::string_view message) {
  std::fflush(stdout);  // the answer so far comes before the error where both go to one terminal
  write_printable("opdump: " + std::string(message) + "\n", stderr);
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

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return prints_to_terminal();
}

}  // namespace opdump::terminal
