// operators.jsonl: what the file names of a dump cannot say. One JSON object a line, appended while the
// program runs, so that a killed run keeps it: {"kind":"operator",...} once per operator in order of first
// execution (full name, phase, source line, calls), and again with a step for each that calls it from another
// line, and
// {"kind":"slot",...} once for each slot that has no data, with the reason ("view", "uninitialised",
// "sparse"), and {"kind":"call",...} with the function that an operator executes and its arguments: for the
// first call, and for each whose arguments differ from the last ones; and {"kind":"layout",...} likewise with
// the parts that a rank has of tensors that several hold, and {"kind":"wiring",...} with the operators that
// made what the call reads. Page: docs/formats/operators.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/file/file.h"
#include "base/result.h"
#include "dump/logged_operator.h"
#include "dump/wiring.h"
#include "model/dtype.h"
#include "model/graph.h"
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

// What an operator executed from a step on.
struct LoggedForm {
  std::string operator_name;  // full scoped name
  std::int64_t graph_id = 0;
  std::int64_t step = 0;
  CallForm form;
};

// Which parts of tensors an operator had from a step on.
struct LoggedLayout {
  std::string operator_name;  // full scoped name
  std::int64_t graph_id = 0;
  std::int64_t step = 0;
  CallLayout layout;
};

// Who made what an operator read from a step on.
struct LoggedWiring {
  std::string operator_name;  // full scoped name
  std::int64_t graph_id = 0;
  std::int64_t step = 0;
  CallWiring wiring = {};  // makers have no numbers
};

// The arguments as JSON: an object in the order of the schema. A tensor is {"tensor":1}, and if it is a
// number of the program {"tensor":1,"constant":"4"}; an infinity or NaN {"float":"inf"}.
std::string encode_call_arguments(std::span<const model::Argument> arguments);

// State of the engine that the result of a call depends on, as a JSON object: {"autocast":"bfloat16"}. Empty
// if there is none.
std::string encode_call_state(const std::map<std::string, std::string>& state);

// A line of the log, with its line feed.
std::string format_log_line(const LoggedOperator& op);
std::string format_log_line(const UndumpedSlot& slot);
std::string format_log_line(const LoggedForm& call);
std::string format_log_line(const LoggedLayout& layout);
std::string format_log_line(const LoggedWiring& logged);

class OperatorLogWriter {
 public:
  // Keeps nothing.
  OperatorLogWriter() = default;
  // Appends to {rank_directory}/operators.jsonl.
  static Result<OperatorLogWriter> open(const std::filesystem::path& rank_directory);
  // Each buffers; flush() hands the lines to the system. Not thread-safe.
  void add(const LoggedOperator& op);
  void add(const UndumpedSlot& slot);
  void add(const LoggedForm& call);
  void add(const LoggedLayout& layout);
  void add(const LoggedWiring& logged);
  Result<> flush();

 private:
  Fd fd_;
  std::filesystem::path path_;
  std::string buffer_;
};

// What a line without its line feed says; nothing if it is damaged.
using LogLine =
    std::variant<std::monostate, LoggedOperator, UndumpedSlot, LoggedForm, LoggedLayout, LoggedWiring>;
LogLine decode_log_line(std::string_view line);

// The first record of an operator counts; a later one says from which line it is called from a step on.
struct TakeLogLine {
  std::function<Result<>(LoggedOperator op)> op;
  std::function<Result<>(UndumpedSlot slot)> slot;
  std::function<Result<>(LoggedForm call)> call = {};        // may be empty
  std::function<Result<>(LoggedLayout layout)> layout = {};  // may be empty
  std::function<Result<>(LoggedWiring logged)> wiring = {};  // may be empty
};
// Hands on the lines of a log in their order, which is that of first execution. Returns how many lines are
// damaged, a torn last one after a kill, for example. Errors: those of `take`.
Result<std::uint64_t> decode_operator_log(std::string_view text, const TakeLogLine& take);

// The same of the log of a rank, which may be of any size. Errors: not_found, io.
Result<std::uint64_t> read_operator_log(const std::filesystem::path& rank_directory, const TakeLogLine& take);

}  // namespace opdump::dump
