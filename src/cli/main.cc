#include <span>

#include "cli/verb.h"

int main(int argc, char** argv) {
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  return opdump::cli::run_command_line(words.empty() ? words : words.subspan(1));
}
