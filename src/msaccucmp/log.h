// The log of `opdump msaccucmp`, on stderr as the original writes it:
//   2026-11-21 11:35:47 (27446) - [INFO] text
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "msaccucmp/failure.h"

namespace opdump::msaccucmp {

enum class Severity : std::uint8_t { info, warning, error };

struct LogLine {
  Severity severity = Severity::info;
  std::string text;
};

enum class LogMode : std::uint8_t { kept, written };

// What one piece of work says. A log that is kept holds its lines until print(), so that pieces that run at
// once do not interleave theirs; one that is written prints each line at once.
class Log {
 public:
  explicit Log(LogMode mode = LogMode::kept) : mode_(mode) {}

  void add(Severity severity, std::string text);
  void info(std::string text) { add(Severity::info, std::move(text)); }
  void warn(std::string text) { add(Severity::warning, std::move(text)); }
  void error(std::string text) { add(Severity::error, std::move(text)); }

  // Logs `message` as an error, and makes a failure of it.
  Failure fail(Status status, std::string message);
  // Logs an exception that nothing in the original catches: the status is kCrash.
  Failure crash(const std::string& exception);

  // The lines that are kept.
  const std::vector<LogLine>& lines() const { return lines_; }
  bool empty() const { return lines_.empty(); }
  void clear() { lines_.clear(); }
  std::string take_text();  // as they are printed, with their line feeds; none is left
  void print();             // the same on stderr

 private:
  LogMode mode_;
  std::vector<LogLine> lines_;
};

// Prints one line.
void log_line(Severity severity, std::string_view text);
// Prints `message` as an error and returns `status`.
Status fail(Status status, std::string_view message);

}  // namespace opdump::msaccucmp
