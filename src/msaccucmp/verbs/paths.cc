// The original's checks of paths.
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "base/file.h"
#include "msaccucmp/python_text.h"
#include "msaccucmp/verbs/msaccucmp.h"

namespace opdump::msaccucmp {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLongestPath = 4096, kLongestName = 255;

bool has_plain_letters(const std::string& text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_\\./:()=-").find(c) != std::string_view::npos;
  });
}

Status check_length(const fs::path& path, Log& log) {
  const auto too_long = [&](std::string_view what, std::size_t limit) {
    return log.fail(Status::invalid_path, "The " + std::string(what) +
                                              " length exceeds the maximum limit, the maximum limit is " +
                                              std::to_string(limit) + ".");
  };
  if (path.string().size() >= kLongestPath) return too_long("path", kLongestPath);
  for (const fs::path& part : path)
    if (part.string().size() >= kLongestName) return too_long("file name", kLongestName);
  return Status::ok;
}

}  // namespace

std::string in_quotes(const std::string& path) { return "\"'" + path + "'\""; }

std::string python_os_error(const Error& error, const fs::path& path) {
  constexpr int kLast = 133;
  const std::string text = error.message();
  for (int number = 1; number <= kLast; ++number) {
    const std::string message = std::generic_category().message(number);
    if (text.ends_with(": " + message))
      return "[Errno " + std::to_string(number) + "] " + message + ": " + python_quoted(path.string());
  }
  return text;
}

fs::path real_path(const std::string& text) {
  std::error_code error;
  const fs::path whole = fs::absolute(text, error);
  fs::path path = fs::weakly_canonical(whole, error);
  if (error) path = whole.lexically_normal();
  return path.has_filename() || path == path.root_path() ? path : path.parent_path();
}

bool is_link(const std::string& given) {
  std::error_code error;
  fs::path path = fs::absolute(given, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "link/" is the link, as os.path.abspath has it
  return fs::is_symlink(path, error);
}

Status check_path(const std::string& given, PathKind kind, Log& log) {
  if (given.empty()) return log.fail(Status::invalid_parameter, "The path is null.");
  if (!has_plain_letters(given))
    return log.fail(Status::invalid_parameter,
                    "The name '" + given + "' is invalid. It only supports '\"A-Za-z0-9_\\./:()=-\"'.");
  if (is_link(given))
    return log.fail(Status::invalid_path, "The path " + in_quotes(given) + " is a softlink, not permitted.");
  const fs::path path = real_path(given);
  const std::string text = path.string();
  if (const Status status = check_length(path, log); status != Status::ok) return status;
  std::error_code error;
  if (!fs::exists(path, error))
    return log.fail(Status::invalid_path, "The path " + in_quotes(text) + " does not exist.");
  if (::access(path.c_str(), R_OK) != 0)
    return log.fail(Status::invalid_path,
                    "You do not have permission to read the path " + in_quotes(text) + ".");
  if (kind == PathKind::file && !fs::is_regular_file(path, error))
    return log.fail(Status::invalid_path,
                    "The path " + in_quotes(given) + " is not a file. Please check the path.");
  if (kind == PathKind::directory && !fs::is_directory(path, error))
    return log.fail(Status::invalid_path,
                    "The path " + in_quotes(given) + " is not a directory. Please check the path.");
  return Status::ok;
}

Status check_output(const std::string& given, Log& log) {
  std::error_code error;
  const fs::path path = real_path(given);
  if (!given.empty() && !is_link(given) && !fs::exists(path, error))
    if (auto made = make_directories(path, 0700); !made)
      return log.fail(Status::invalid_path, "Failed to create " + in_quotes(path.string()) + ". " +
                                                python_os_error(made.error(), path));
  if (const Status status = check_path(given, PathKind::directory, log); status != Status::ok) return status;
  if (::access(path.c_str(), W_OK) == 0) return Status::ok;
  return log.fail(Status::invalid_path,
                  "You do not have permission to write the path " + in_quotes(path.string()) + ".");
}

}  // namespace opdump::msaccucmp
