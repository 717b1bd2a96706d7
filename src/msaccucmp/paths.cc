#include "msaccucmp/paths.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <system_error>

#include "base/file/file.h"
#include "math/hash.h"
#include "msaccucmp/log.h"
#include "msaccucmp/python_text.h"

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

std::string real_text(const std::string& path) { return real_path(path.empty() ? "." : path).string(); }

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

std::string uuid3(const std::string& name) {
  std::string bytes("\x6b\xa7\xb8\x10\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8",
                    16);  // the name space
  bytes += name;
  std::string digits = math::md5_hex(model::TensorView::row_major(
      model::DType::uint8, {static_cast<std::int64_t>(bytes.size())}, bytes.data()));
  if (digits.size() != 32) return digits;
  constexpr std::string_view kHex = "0123456789abcdef";
  digits[12] = '3';  // the version, and the variant 10 in the two upper bits
  digits[16] = kHex[8 | (kHex.find(digits[16]) & 3)];
  return digits;
}

std::string time_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%d%H%M%S", &local);
  return text.data();
}

}  // namespace opdump::msaccucmp
