
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

#include "msaccucmp/log.h"
#include "terminal/output.h"

namespace opdump::msaccucmp {
namespace {

bool is_control(char c) { return (c >= '\0' && c < ' ') || c == '\x7f'; }

// Eight characters at a time: nearly no line has one.
bool has_control(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kTops = 0x80 * kOnes;
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data(), 8);
    const std::uint64_t low = (eight & ~kTops), is_low = ~(low + 0x60 * kOnes), is_last = low + kOnes;
    if (((is_low | is_last) & ~eight & kTops) != 0) return true;
  }
  return std::ranges::any_of(text, is_control);
}

// What lines begin with now. Each operator logs, and formatting the time costs more than the rest of a line.
const std::string& line_start() {
  thread_local std::time_t last_time = -1;
  thread_local ::pid_t last_process = -1;
  thread_local std::string last_start;
  const std::time_t now = std::time(nullptr);
  const ::pid_t process = ::getpid();
  if (now != last_time || process != last_process) {
    std::tm local{};
    ::localtime_r(&now, &local);
    std::array<char, 32> time{};
    std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S", &local);
    last_start = std::string(time.data()) + " (" + std::to_string(process) + ") - [";
    last_time = now;
    last_process = process;
  }
  return last_start;
}

// Line feeds and the like within `text` become '_'.
void append_line(std::string& out, const std::string& start, Severity severity, std::string_view text) {
  constexpr std::string_view kNames[] = {"INFO", "WARNING", "ERROR"};
  out.append(start).append(kNames[static_cast<std::size_t>(severity)]).append("] ");
  const std::size_t begin = out.size();
  out.append(text);
  if (has_control(text))
    std::replace_if(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), is_control, '_');
  out += '\n';
}

}  // namespace

void Log::add(Severity severity, std::string text) {
  if (mode_ == LogMode::kept)
    lines_.push_back({severity, std::move(text)});
  else
    log_line(severity, text);
}

Failure Log::fail(Status status, std::string message) {
  error(message);
  return {status, std::move(message)};
}

Failure Log::crash(const std::string& exception) {
  return fail(kCrash, "Basic error running msaccucmp.py: " + exception);
}

std::string Log::take_text() {
  std::string text;
  if (lines_.empty()) return text;
  constexpr std::size_t kUsualLength = 1 << 10;
  text.reserve(kUsualLength);
  for (const std::string start = line_start(); const LogLine& line : lines_)
    append_line(text, start, line.severity, line.text);
  lines_.clear();
  return text;
}

void Log::print() {
  if (const std::string text = take_text(); !text.empty()) terminal::print_log(text);
}

void log_line(Severity severity, std::string_view text) {
  std::string line;
  append_line(line, line_start(), severity, text);
  terminal::print_log(line);
}

Status fail(Status status, std::string_view message) {
  log_line(Severity::error, message);
  return status;
}

}  // namespace opdump::msaccucmp
