// What can go wrong in a comparison in the manner of msaccucmp, and what it says meanwhile. The original ends
// with the number of the failure (cann.md 4.2) and puts its message into the table; nothing here prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/spill.h"

namespace opdump::msaccucmp {

enum class Status : int {
  ok = 0,
  unknown = 1,
  no_dump_file = 2,
  invalid_path = 3,
  incomplete = 3,  // ours: of several processes, not all took part to the end
  parse_dump = 4,
  invalid_parameter = 6,
  open_file = 7,
  invalid_dump = 11,
  out_of_bounds = 12,
  invalid_json = 13,
  several_files = 17,
  dump_file = 18,
  write_file = 19,
  dump_kind = 20,
  invalid_dtype = 21,
  invalid_format = 22,
  invalid_shape = 23,
  invalid_file_type = 24,
  convert_function = 26,
  json_content = 29,
  unsupported_compare = 30,
  algorithm = 31,
  fractal_nz = 34,
  overflow_type = 35,
  overflow_status = 36,
  task_type = 37,
  size_mismatch = 39,
  data_shape = 40,
  nano = 47,
};

struct Failure {
  Status status = Status::unknown;
  std::string message;  // for the column CompareFailReason; may be empty
};

// A value, or why there is none. OPDUMP_TRY works with it.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::move(value)) {}
  Outcome(Failure failure) : state_(std::move(failure)) {}

  explicit operator bool() const { return std::holds_alternative<T>(state_); }
  T& operator*() { return std::get<T>(state_); }
  T* operator->() { return &std::get<T>(state_); }
  const T& operator*() const { return std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }
  const Failure& failure() const { return std::get<Failure>(state_); }
  Failure take_error() { return std::move(std::get<Failure>(state_)); }

 private:
  std::variant<T, Failure> state_;
};

// Lines for the log, kept so that work that is done at once is still told in order. Of very many all but the
// newest are put aside.
class Journal {
 public:
  enum class Severity : std::uint8_t { info, warning, error };
  struct Line {
    Severity severity;
    std::string text;
  };

  void add(Severity severity, std::string text) {
    lines_.push_back({severity, std::move(text)});
    if (lines_.size() >= kMostHeld) put_aside();
  }
  void info(std::string text) { add(Severity::info, std::move(text)); }
  void warn(std::string text) { add(Severity::warning, std::move(text)); }
  void error(std::string text) { add(Severity::error, std::move(text)); }
  bool empty() const { return lines_.empty() && aside_ == nullptr; }
  // Calls look(line) for each, in order. What cannot be read again is missing, and that is said.
  void visit(const std::function<void(const Line&)>& look) const;
  const std::vector<Line>& newest() const { return lines_; }
  void clear() {
    lines_.clear();
    aside_.reset();
  }

  // Says `message` as an error, and makes a failure of it.
  Failure fail(Status status, std::string message) {
    error(message);
    return {status, std::move(message)};
  }

 private:
  static constexpr std::size_t kMostHeld = 4096;
  void put_aside();
  std::vector<Line> lines_;
  std::unique_ptr<Spill> aside_;  // those before lines_: severity, length, text
};

}  // namespace opdump::msaccucmp
