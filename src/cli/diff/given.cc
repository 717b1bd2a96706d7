#include "cli/diff/given.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/file/file.h"
#include "cli/record/new_folder.h"

namespace opdump::cli {

namespace fs = std::filesystem;

GivenWords split_at_dashes(std::span<const char* const> args) {
  const auto dashes = std::ranges::find(args, std::string_view("--"),
                                        [](const char* word) { return std::string_view(word); });
  const auto count = static_cast<std::size_t>(dashes - args.begin());
  if (count == args.size()) return {.own = args, .behind = {}, .has_dashes = false};
  return {.own = args.first(count), .behind = args.subspan(count + 1), .has_dashes = true};
}

Result<std::vector<CommandLine>> take_commands(std::span<const char* const> words) {
  std::vector<std::vector<std::string>> parts(1);
  for (const char* word : words)
    if (std::string_view(word) == "---")
      parts.emplace_back();
    else
      parts.back().emplace_back(word);
  std::vector<CommandLine> commands;
  for (const auto& part : parts) {
    OPDUMP_TRY(CommandLine command, make_command_line(part));
    commands.push_back(std::move(command));
  }
  return commands;
}

Result<fs::path> choose_new_folder(const std::string& output, const std::string& fallback) {
  OPDUMP_TRY(fs::path folder, find_free_folder(output, fallback));
  if (auto made = make_directories(folder, 0777); !made)
    return Error(Code::usage, "--output: " + made.error().message());
  return folder;
}

}  // namespace opdump::cli
