// operators.jsonl: what the file names of a dump cannot say. One JSON object a line, appended while the
// program runs, so that a killed run keeps it: {"kind":"operator",...} once per operator in order of first
// execution (full name, phase, source line), and
// {"kind":"slot",...} once for each slot that has no data, with the reason ("view", "uninitialised",
// "sparse"). Page: docs/formats/operators.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "model/dtype.h"
#include "model/operator.h"
#include "model/shape.h"

namespace opdump::dump {

inline constexpr std::string_view kOperatorLogName = "operators.jsonl";

// A slot whose data is not in the dump.
struct UndumpedSlot {
  std::string operator_name;  // full scoped name
  std::int64_t graph_id = 0;
  std::int64_t step = 0;  // where it was first seen
  model::Side side = model::Side::input;
  std::uint32_t index = 0;
  model::DType dtype = model::DType::undefined;
  model::Shape shape;
  std::string reason;
};

class OperatorLogWriter {
 public:
  // Keeps nothing.
  OperatorLogWriter() = default;
  // Appends to {rank_directory}/operators.jsonl.
  static Result<OperatorLogWriter> open(const std::filesystem::path& rank_directory);
  // Each buffers; flush() hands the lines to the system. Not thread-safe.
  void add(const model::Operator& op);
  void add(const UndumpedSlot& slot);
  Result<> flush();

 private:
  Fd fd_;
  std::filesystem::path path_;
  std::string buffer_;
};

struct OperatorLog {
  std::vector<model::Operator>
      operators;  // in order of first execution; a later line of the same name replaces nothing
  std::vector<UndumpedSlot> undumped;
  std::uint64_t damaged_lines = 0;  // a torn last line after a kill, for example
};
// Never fails: damaged lines are counted.
OperatorLog decode_operator_log(std::string_view text);

// The log of a rank. Errors: not_found, io, limit (1 GiB).
Result<OperatorLog> read_operator_log(const std::filesystem::path& rank_directory);

}  // namespace opdump::dump
