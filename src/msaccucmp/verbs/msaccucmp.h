// `opdump msaccucmp ...`: the original's verbs, options, names, messages and exit codes (cann.md 4).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "msaccucmp/failure.h"
#include "msaccucmp/verbs/argparse.h"

namespace opdump::msaccucmp {

// "2026-11-21 11:35:47 (27446) - [INFO] text" on stderr. Line feeds and the like within `text` become '_'.
enum class Severity : std::uint8_t { info, warning, error };
void log_line(Severity severity, std::string_view text);

// Lines of the log in the making, for one call of the system. All of them tell the time when the first was
// begun.
class LogText {
 public:
  LogText();
  void add(Severity severity, std::string_view text);
  std::string take() { return std::exchange(text_, {}); }
  std::size_t size() const { return text_.size(); }  // in bytes

 private:
  std::string start_;  // of each line
  std::string text_;
};

// Says `message` as an error and returns `status`.
Status fail(Status status, std::string_view message);

// An exception that nothing in the original catches: its text has been told, the exit code is 1, and how long
// it took is not told.
inline constexpr Status kCrash{-1};

// What one piece of work says. Pieces that run at once keep their lines together until flush().
class Log {
 public:
  explicit Log(bool is_kept = false) : is_kept_(is_kept) {}
  void say(Severity severity, std::string text);
  void info(std::string text) { say(Severity::info, std::move(text)); }
  void warning(std::string text) { say(Severity::warning, std::move(text)); }
  Status fail(Status status, std::string text);
  Status crash(const std::string& text);  // always kCrash
  std::string text() const;               // of the lines that are kept, with their line feeds
  void flush();
  const std::vector<std::pair<Severity, std::string>>& lines() const { return lines_; }  // not yet flushed

 private:
  bool is_kept_;
  std::vector<std::pair<Severity, std::string>> lines_;
};

// Python's "%r" of a path within double quotes: "'/a/b'".
std::string in_quotes(const std::string& path);

// What Python says of an error of the system: "[Errno 13] Permission denied: '/a/b'". The message of others.
std::string python_os_error(const Error& error, const std::filesystem::path& path);

// The path without links and dots, as os.path.realpath; it need not exist.
std::filesystem::path real_path(const std::string& text);

// Whether the last part of `given` is a symbolic link.
bool is_link(const std::string& given);

// The original's rules for a path that is read: its letters, that it is no link, its length, that it is there
// and may be read. Says on the log what is wrong; some of that shows the path as it is given.
enum class PathKind : std::uint8_t { any, file, directory };
Status check_path(const std::string& given, PathKind kind, Log& log);

// Makes the directory if it is missing, and checks it.
Status check_output(const std::string& given, Log& log);

// The whole of it. `args` are the words after `opdump msaccucmp`; returns the exit code.
Result<int> run(std::span<const char* const> args);

// The verbs. Each takes the values that argparse has read, and returns the exit status; the time it took is
// told by the caller.
inline constexpr std::string_view kConvertTypes[] = {"npy", "bin", "msnpy",
                                                     "pt"};  // in the order of FileType
Status run_convert(const ParsedArguments& values);
Status run_overflow(const ParsedArguments& values);
Status run_file_compare(const ParsedArguments& values);

}  // namespace opdump::msaccucmp
