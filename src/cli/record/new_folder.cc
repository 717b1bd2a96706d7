#include "cli/record/new_folder.h"

#include <system_error>

namespace opdump::cli {

namespace fs = std::filesystem;

Result<fs::path> find_free_folder(const std::string& output, const std::string& fallback) {
  std::error_code ignored;
  const auto is_free = [&](const fs::path& path) {
    return !fs::exists(path, ignored) || fs::is_empty(path, ignored);
  };
  if (!output.empty() && !is_free(output))
    return Error(Code::usage,
                 "--output: " + output + " has files already; remove them, or name another folder");
  fs::path folder = output.empty() ? fallback : output;
  for (int number = 2; !is_free(folder); ++number) folder = fallback + "-" + std::to_string(number);
  return folder;
}

}  // namespace opdump::cli
