#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/file.h"

namespace opdump::cli {

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_error(std::string_view message) {
  std::string line = "opdump: ";
  line.append(message).push_back('\n');
  std::fflush(stdout);  // the answer so far comes before the error where both go to one terminal
  std::fwrite(line.data(), 1, line.size(), stderr);
}

Result<> flush_output() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return io_error("stdout", "write");
  return ok();
}

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace opdump::cli
