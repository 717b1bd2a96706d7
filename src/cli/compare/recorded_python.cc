#include "cli/compare/recorded_python.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/file/file.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxList = 1 << 20;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// As cache() of python/opdump/_building.py; empty without a home.
fs::path cache_directory() {
  if (const std::string own = variable("OPDUMP_CACHE"); !own.empty()) return own;
  if (const std::string base = variable("XDG_CACHE_HOME"); !base.empty()) return fs::path(base) / "opdump";
  const std::string home = variable("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".cache/opdump";
}

std::string torch_of(std::string_view runtime) {
  constexpr std::string_view kTorch = "torch ";
  return std::string(runtime.starts_with(kTorch) ? runtime.substr(kTorch.size()) : std::string_view());
}

bool belongs_to_user(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

std::optional<RecordedPython> recorded_python(const dump::DumpSet& dump) {
  for (const auto& [rank, status] : dump.statuses()) {
    RecordedPython found;
    if (const auto python = status.environment.find("python"); python != status.environment.end()) {
      found.path = python->second;
    } else if (const auto command = status.environment.find("command");
               command != status.environment.end()) {  // an older recording
      found.path = command->second.substr(0, command->second.find(' '));
      if (!fs::path(found.path).filename().string().starts_with("python")) continue;
    }
    if (found.path.empty()) continue;
    found.torch = torch_of(status.runtime);
    return found;
  }
  return std::nullopt;
}

std::string recorded_torch(const dump::DumpSet& dump) {
  for (const auto& [rank, status] : dump.statuses())
    if (std::string torch = torch_of(status.runtime); !torch.empty()) return torch;
  return {};
}

bool has_recorded_here(const std::string& python) {
  const fs::path list = cache_directory() / "pythons";
  if (!fs::path(python).is_absolute() || !belongs_to_user(list)) return false;
  const auto text = read_file(list, kMaxList);
  if (!text) return false;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (line == python) return true;
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return false;
}

}  // namespace opdump::cli
