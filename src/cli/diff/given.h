// What the command lines of `opdump diff` and `opdump bisect` have in common.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/diff/command_line.h"

namespace opdump::cli {

// The words of a verb, and those behind "--".
struct GivenWords {
  std::span<const char*const> own, behind;
  bool has_dashes = false;
};
GivenWords split_at_dashes(std::span<const char* const> args);

// Words behind "--": one command, or more with "---" between them. Errors: usage -- one has no program.
Result<std::vector<CommandLine>> take_commands(std::span<const char* const> words);

// The folder that find_free_folder() finds, which it creates. Errors: usage.
Result<std::filesystem::path> choose_new_folder(const std::string& output, const std::string& fallback);

}  // namespace opdump::cli
