// A command line that a user gives as one text, or as words: `VAR=1 python train.py --lr 0.1`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace opdump::cli {

struct CommandLine {
  std::string text{};                                              // as the user wrote it
  std::vector<std::pair<std::string, std::string>> environment{};  // variables in front of the program
  std::vector<std::string> words{};                                // the program and its arguments
};

// Splits as a shell does: blanks, quotes and backslashes. A text with anything more for a shell (`|`, `$`,
// `*`, ...) becomes a command of /bin/sh. Errors: usage -- nothing in it, or a quote that does not end.
Result<CommandLine> parse_command_line(std::string_view text);

// The same of words that a shell has split already. Errors: usage -- no program.
Result<CommandLine> make_command_line(const std::vector<std::string>& words);

// `word` as a shell reads it back.
std::string quote_word(std::string_view word);

}  // namespace opdump::cli
