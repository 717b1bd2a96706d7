// What can go wrong in the verbs of msaccucmp. The original exits with the number of the failure
// (cann.md 4.2) and puts its message into the table.
#pragma once

#include <string>
#include <variant>

#include "base/result.h"

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

// An exception that nothing in the original catches: its text is in the log, the exit code is 1, and the time
// that the command took is not logged.
inline constexpr Status kCrash{-1};

struct Failure {
  Status status = Status::unknown;
  std::string message;  // for the column CompareFailReason; may be empty

  operator Status() const { return status; }  // NOLINT: where the message is of no use
};

template <typename T = std::monostate>
using Outcome = Result<T, Failure>;

}  // namespace opdump::msaccucmp
