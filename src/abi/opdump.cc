// The C door. Each function is: check arguments, call one C++ function, translate.
#include "opdump/opdump.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "abi/arguments.h"
#include "abi/call.h"
#include "abi/under_run.h"
#include "base/process/launcher.h"
#include "base/result.h"
#include "base/text/printable.h"
#include "base/text/text.h"
#include "base/version.h"
#include "capture/session.h"
#include "dialect/dialects.h"

using opdump::Code;
using opdump::Error;
using opdump::LogLevel;
using opdump::Result;
namespace capture = opdump::capture;
namespace dialect = opdump::dialect;
namespace model = opdump::model;

struct opdump_session {
  std::unique_ptr<capture::Session> session;
  bool is_under_run = false;  // `opdump run` hears how it ends
};

namespace {

static_assert(static_cast<int>(model::DType::float8_e5m2) == OPDUMP_FLOAT8_E5M2);
static_assert(static_cast<int>(model::Phase::optimizer) == OPDUMP_OPTIMIZER);

thread_local std::string last_error;
thread_local int last_error_number = 0;

opdump_status fail(opdump_status status, std::string message, int number = 0) {
  last_error = std::move(message);
  last_error_number = number;
  return status;
}

opdump_status to_status(const Error& error) {
  if (opdump::dump::is_refusal(error)) return OPDUMP_ERROR_EXISTS;
  switch (error.code()) {
    case Code::config:
      return OPDUMP_ERROR_CONFIG;
    case Code::io:
    case Code::not_found:
      return OPDUMP_ERROR_IO;
    case Code::usage:
      return OPDUMP_ERROR_ARGUMENT;
    default:
      return OPDUMP_ERROR_INTERNAL;
  }
}

// The one place where exceptions (ours never throw; std and libraries may) stop.
template <typename F>
opdump_status guarded(F&& body) noexcept {
  try {
    if (Result<> result = body(); !result) {
      Error error = result.take_error();
      return fail(to_status(error), error.message(), error.number());
    }
    return OPDUMP_OK;
  } catch (const std::exception& e) {
    return fail(OPDUMP_ERROR_INTERNAL, e.what());
  } catch (...) {
    return fail(OPDUMP_ERROR_INTERNAL, "unknown exception");
  }
}

// Guards functions that answer with a value; `otherwise` is the answer if something threw (out of memory).
template <typename T, typename F>
T guarded_value(T otherwise, F&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}

Result<std::uint64_t> memory_limit(const opdump_options& options) {
  if (options.memory_limit_bytes != 0) return options.memory_limit_bytes;
  const char* text = std::getenv("OPDUMP_MEMORY_LIMIT");
  if (!text || !*text) return std::uint64_t{1} << 30;
  const auto bytes = opdump::parse_bytes(text);
  if (!bytes || *bytes == 0)
    return Error(Code::config,
                 "OPDUMP_MEMORY_LIMIT is '" + std::string(text) + "'; expected a size such as 512M or 2G");
  return *bytes;
}

bool is_on(const char* variable) {
  const char* const value = std::getenv(variable);
  return value && *value && std::string_view(value) != "0";
}

// What a recording does with a dump that it finds.
Result<> choose_existing(const opdump_options& options, capture::SessionOptions& recording) {
  using opdump::dump::Existing;
  switch (options.existing) {
    case OPDUMP_EXISTING_DEFAULT:
    case OPDUMP_EXISTING_ORIGINAL:
      break;
    case OPDUMP_EXISTING_REFUSE:
    case OPDUMP_EXISTING_REPLACE:
    case OPDUMP_EXISTING_APPEND:
      recording.existing = static_cast<Existing>(options.existing - OPDUMP_EXISTING_REFUSE);
      return opdump::ok();
    default:
      return Error(Code::usage, "opdump_open: existing is " + std::to_string(options.existing));
  }
  const char* text = std::getenv("OPDUMP_EXISTING");
  if (!text || !*text) {
    recording.warns_of_addition = options.existing == OPDUMP_EXISTING_ORIGINAL;
    if (recording.warns_of_addition) recording.existing = Existing::append;
    return opdump::ok();
  }
  const auto existing = opdump::dump::parse_existing(text);
  if (!existing)
    return Error(Code::config, "OPDUMP_EXISTING is '" + std::string(text) +
                                   "'; expected \"refuse\", \"replace\" or \"append\"");
  recording.existing = *existing;
  return opdump::ok();
}

// The structs as engines built against their first versions have them.
constexpr std::size_t kFirstOptionsSize = offsetof(opdump_options, config_text);
constexpr std::size_t kFirstTensorSize = offsetof(opdump_tensor, value);
constexpr std::size_t kSecondTensorSize = offsetof(opdump_tensor, original_rank);
constexpr std::size_t kThirdTensorSize = offsetof(opdump_tensor, block);
constexpr std::size_t kFourthTensorSize = offsetof(opdump_tensor, is_late);
constexpr std::size_t kFifthTensorSize = offsetof(opdump_tensor, statistics);
constexpr std::size_t kSixthTensorSize = offsetof(opdump_tensor, version);
constexpr std::size_t kFirstGraphInfoSize = offsetof(opdump_graph_info, outputs);
constexpr std::size_t kFirstOpInfoSize = offsetof(opdump_op_info, task);

// What the caller has of a struct that has grown; the rest is zero.
template <typename T>
T complete(const T& given) {
  T whole{};
  std::memcpy(&whole, &given, std::min<std::size_t>(given.size, sizeof whole));
  return whole;
}

opdump::LogSink to_log(const opdump_options& options, bool is_under_run) {
  if (!options.log) {
    if (!is_under_run) return {};
    return [](LogLevel level, std::string_view line) { opdump::abi::tell_run(level, line); };
  }
  return [log = options.log, user = options.log_user](LogLevel level, std::string_view line) {
    std::string printable;  // hosts print it as it is, and names of theirs are in it
    opdump::append_printable(printable, line);
    log(user, static_cast<int>(level), printable.c_str());
  };
}

opdump::dump::FileSink to_sink(const opdump_options& options) {
  if (!options.write_file) return {};
  return [write = options.write_file,
          user = options.write_file_user](const opdump::dump::FileChunk& chunk) -> Result<> {
    const opdump_file_chunk given{.size = sizeof given,
                                  .is_last = chunk.is_last,
                                  .path = chunk.path.c_str(),
                                  .offset = chunk.offset,
                                  .data = chunk.bytes.data(),
                                  .byte_count = chunk.bytes.size()};
    if (const int answer = write(user, &given); answer != 0)
      return Error(Code::io, chunk.path.string() + ": write_file answered " + std::to_string(answer));
    return opdump::ok();
  };
}

Result<opdump::plan::DumpPlan> read_plan(const opdump_options& options) {
  dialect::DialectOptions reading;
  reading.strict = options.strict != 0;
  reading.environment = dialect::process_environment;
  if (options.mode && *options.mode) {
    OPDUMP_TRY(reading.mode, dialect::parse_mode(options.mode));
  }
  const std::string name = options.dialect ? options.dialect : "";
  if (options.config_text)
    return dialect::make_plan(options.config_path ? options.config_path : "configuration",
                              options.config_text, name, reading);
  return dialect::load_plan(options.config_path, name, reading);
}

Result<> open_session(const opdump_options& options, bool is_under_run, opdump_session** session) {
  OPDUMP_TRY(auto plan, read_plan(options));
  // Of a process that records apart from the ranks that it has started.
  if (const char* const apart = std::getenv("OPDUMP_APART"); apart && *apart) plan.root /= apart;
  capture::SessionOptions recording;
  recording.rank = options.rank;
  recording.device_id = static_cast<std::uint32_t>(options.device_id);
  if (options.is_launched && options.rank == 0) {
    OPDUMP_TRY(const auto rank, opdump::find_launched_rank());
    recording.rank = rank.value_or(0);
  }
  if (options.is_launched && options.device_id == 0) {
    OPDUMP_TRY(const auto device, opdump::find_launched_device());
    recording.device_id = device.value_or(0);
  }
  recording.runtime = options.runtime ? options.runtime : "";
  recording.process = options.process ? options.process : "";
  recording.threads = options.threads;
  recording.checks_reads = options.check_reads != 0 || is_on("OPDUMP_CHECK_READS");
  recording.reports_graph = options.reports_graph != 0;
  OPDUMP_TRY(recording.memory_limit_bytes, memory_limit(options));
  OPDUMP_CHECK_OK(choose_existing(options, recording));
  if (options.retain && options.release) {
    recording.retain = options.retain;
    recording.release = options.release;
    recording.wait = options.wait;
  }
  recording.log = to_log(options, is_under_run);
  recording.write_file = to_sink(options);
  if (plan.is_empty) {
    for (const std::string& warning : plan.warnings)
      if (recording.log) recording.log(LogLevel::warning, warning);
    return opdump::ok();
  }
  const int number = plan.failure_number;
  auto opened = capture::Session::open(std::move(plan), std::move(recording));
  if (!opened && opdump::dump::is_refusal(opened.error())) return opened.take_error();
  if (!opened) return opened.take_error().with_number(number);
  *session = new opdump_session{std::move(*opened), is_under_run};
  return opdump::ok();
}

Result<> open_session(const opdump_options* given, opdump_session** session) {
  if (!given || !session || given->size < kFirstOptionsSize)
    return Error(Code::usage, "opdump_open: options (with its size) and session must not be NULL");
  *session = nullptr;
  opdump_options options = complete(*given);
  if (options.config_path || options.config_text) return open_session(options, false, session);
  if (!opdump::abi::take_from_run(options)) return opdump::ok();  // nobody wants a recording
  Result<> opened = open_session(options, true, session);
  if (!opened) opdump::abi::tell_run(LogLevel::error, opened.error().message());
  if (!opened || *session) opdump::abi::tell_run(opened ? '+' : '!');
  return opened;
}

// A number from an engine counts only if it is one of ours; all else is "undefined", and not dumped.
model::DType to_dtype(std::uint32_t number) {
  return number <= OPDUMP_FLOAT8_E5M2 ? static_cast<model::DType>(number) : model::DType::undefined;
}

model::Phase to_phase(std::uint32_t number) {
  return number <= OPDUMP_OPTIMIZER ? static_cast<model::Phase>(number) : model::Phase::forward;
}

model::GraphParameter::Role to_role(std::uint32_t number) {
  return number <= OPDUMP_CONSTANT ? static_cast<model::GraphParameter::Role>(number)
                                   : model::GraphParameter::Role::input;
}

void fill(capture::Operand& operand, capture::Session& session, const opdump_tensor& tensor) {
  operand.view.dtype = to_dtype(tensor.dtype);
  operand.index = tensor.index;
  operand.content = tensor.content;
  operand.owner = tensor.owner;
  if (tensor.undumped) operand.undumped = tensor.undumped;
  if (tensor.size >= kSecondTensorSize) {
    operand.value = tensor.value;
    operand.name = session.keep_name(tensor.name);
    operand.role = to_role(tensor.role);
    if (tensor.format != 0)
      operand.format = model::format_name(static_cast<model::Format>(tensor.format - 1));
  }
  if (tensor.size >= kThirdTensorSize && tensor.original_rank > 0 && tensor.original_shape)
    operand.original_shape = model::Shape(std::span(tensor.original_shape, tensor.original_rank));
  if (tensor.size >= kFourthTensorSize) {
    operand.block = tensor.block;
    operand.block_offset = tensor.block_offset;
  }
  if (tensor.size >= kFifthTensorSize && tensor.is_late != 0) {
    operand.is_late = true;
    if (!session.can_wait_for(operand) && operand.undumped.empty()) operand.undumped = "nobody waits for it";
  }
  if (tensor.size >= kSixthTensorSize && !session.device_statistics().empty())
    operand.statistics = tensor.statistics;
  if (tensor.size >= sizeof(opdump_tensor)) operand.version = tensor.version;
  if (tensor.rank > 0 && !tensor.shape) {
    if (operand.undumped.empty()) operand.undumped = "no shape";
    return;
  }
  operand.view.shape = model::Shape(std::span(tensor.shape, tensor.rank));
  operand.view.strides = tensor.strides ? model::Shape(std::span(tensor.strides, tensor.rank))
                                        : model::row_major_strides(operand.view.shape);
  operand.view.data = static_cast<const std::byte*>(tensor.data);
}

opdump::dump::LoggedOperator to_operator(const opdump_op_info& info) {
  opdump::dump::LoggedOperator op(model::Operator{.type = info.type,
                                                  .name = info.name,
                                                  .phase = to_phase(info.phase),
                                                  .graph_id = info.graph_id,
                                                  .stream = info.stream,
                                                  .source_file = info.source_file ? info.source_file : "",
                                                  .source_line = info.source_line,
                                                  .task = info.task,
                                                  .module = info.module ? info.module : ""});
  if (info.frames)
    for (const char* text : std::span(info.frames, info.frame_count))
      if (auto frame = text ? model::parse_frame(text) : std::nullopt) op.stack.push_back(std::move(*frame));
  if (!info.original_names) return op;
  const std::span names(info.original_names, info.original_count);
  op.original_names.emplace();
  for (const char* name : names)
    if (name) op.original_names->emplace_back(name);
  return op;
}

// The tensors of a call, on the stack for all but the widest ones (a _foreach_ operator of a large model).
// Their size is the caller's, who may have been built with a longer struct. Without tensors, or with a wrong
// size, there are none.
class Operands {
 public:
  Operands(capture::Session& session, const opdump_tensor* tensors, std::size_t count) {
    if (!tensors || count == 0 || tensors->size < kFirstTensorSize) return;
    operands_.reserve(count);
    const auto* at = reinterpret_cast<const std::byte*>(tensors);
    for (std::size_t i = 0; i < count; ++i, at += tensors->size)
      fill(operands_.emplace_back(), session, *reinterpret_cast<const opdump_tensor*>(at));
  }
  operator std::span<const capture::Operand>() const { return operands_; }

 private:
  alignas(capture::Operand) std::array<std::byte, 8 * sizeof(capture::Operand)> memory_;
  std::pmr::monotonic_buffer_resource resource_{memory_.data(), memory_.size()};
  std::pmr::vector<capture::Operand> operands_{&resource_};
};

const capture::DefinedOperator* unwrap(const opdump_op* op) {
  return reinterpret_cast<const capture::DefinedOperator*>(op);
}

}  // namespace

opdump_status opdump::abi::call(const std::function<Result<>()>& body) noexcept { return guarded(body); }

const char* opdump_version(void) { return opdump::kVersion.data(); }

void opdump_spell_number(double number, char* text) { *std::to_chars(text, text + 31, number).ptr = 0; }

const char* opdump_last_error(void) { return last_error.c_str(); }
int opdump_last_error_code(void) { return last_error_number; }

opdump_status opdump_open(const opdump_options* options, opdump_session** session) {
  return guarded([&] { return open_session(options, session); });
}

opdump_status opdump_close(opdump_session* session) {
  if (!session) return OPDUMP_OK;
  const opdump_status status = guarded([&] { return session->session->close(); });
  if (session->is_under_run) opdump::abi::tell_run('-');
  delete session;
  return status;
}

int opdump_set_step(opdump_session* session, int64_t step) {
  return session && guarded_value(false, [&] { return session->session->set_step(step); });
}

int opdump_selects_step(const opdump_session* session, int64_t step) {
  return session && session->session->selects_step(step);
}

int opdump_keeps_failures(const opdump_session* session) {
  return session && session->session->keeps_failures();
}

int opdump_device_statistics(const opdump_session* session) {
  if (!session) return 0;
  using opdump::plan::Statistic;
  int bits = 0;
  for (const Statistic statistic : session->session->device_statistics())
    bits |= statistic == Statistic::max   ? OPDUMP_STATISTIC_MAX
            : statistic == Statistic::min ? OPDUMP_STATISTIC_MIN
            : statistic == Statistic::avg ? OPDUMP_STATISTIC_AVG
                                          : OPDUMP_STATISTIC_L2NORM;
  return bits != 0 && session->session->has_low_precision() ? bits | OPDUMP_STATISTIC_LOW : bits;
}

void opdump_define_graph(opdump_session* session, const opdump_graph_info* graph) {
  if (!session || !graph || graph->size < kFirstGraphInfoSize) return;
  guarded_value(0, [&] {
    const opdump_graph_info info = complete(*graph);
    session->session->define_graph(info.graph_id, info.name ? info.name : "",
                                   info.file_name ? info.file_name : "");
    if (info.outputs) session->session->define_outputs(info.graph_id, {info.outputs, info.output_count});
    return 0;
  });
}

const opdump_op* opdump_define(opdump_session* session, const opdump_op_info* info) {
  if (!session || !info || info->size < kFirstOpInfoSize || !info->type || !info->name) return nullptr;
  return guarded_value(static_cast<const opdump_op*>(nullptr), [&] {
    return reinterpret_cast<const opdump_op*>(session->session->define(to_operator(complete(*info))));
  });
}

int opdump_wants(const opdump_session* session, const opdump_op* op) {
  if (!session || !op) return 0;
  const auto wants = session->session->wants(unwrap(op));
  return (wants.call ? OPDUMP_WANTS_CALL : 0) | (wants.arguments ? OPDUMP_WANTS_ARGUMENTS : 0) |
         (wants.inputs ? OPDUMP_WANTS_INPUTS : 0) | (wants.outputs ? OPDUMP_WANTS_OUTPUTS : 0);
}

void opdump_before_write(opdump_session* session, const uint64_t* contents, size_t count) {
  if (!session || !contents) return;
  guarded_value(0, [&] {
    for (std::size_t i = 0; i < count; ++i) session->session->before_write(contents[i]);
    return 0;
  });
}

void opdump_before_any_write(opdump_session* session) {
  if (!session) return;
  guarded_value(0, [&] { return session->session->before_any_write(), 0; });
}

opdump_call* opdump_begin(opdump_session* session, const opdump_op* op, const opdump_tensor* inputs,
                          size_t count) {
  if (!opdump_wants(session, op)) return nullptr;
  return guarded_value(static_cast<opdump_call*>(nullptr), [&] {
    capture::Session& recording = *session->session;
    return reinterpret_cast<opdump_call*>(recording.begin(unwrap(op), Operands(recording, inputs, count)));
  });
}

void opdump_set_arguments(opdump_session* session, opdump_call* call, const opdump_argument* arguments,
                          size_t count) {
  if (!session || !call) return;
  guarded_value(0, [&] {
    capture::Session& recording = *session->session;
    capture::Call& of = *reinterpret_cast<capture::Call*>(call);
    if (!recording.needs_arguments(of, opdump::abi::hash_arguments(arguments, count))) return 0;
    recording.set_arguments(of,
                            {.function = opdump::abi::to_function(arguments, count),
                             .state = opdump::abi::to_state(arguments, count),
                             .arguments = opdump::abi::to_arguments(arguments, count)},
                            opdump::abi::to_bodies(arguments, count));
    return 0;
  });
}

void opdump_set_parts(opdump_session* session, const opdump_op* op, const opdump_mesh* mesh,
                      const opdump_part* parts, size_t count) {
  if (!session || !op || !mesh || mesh->size < sizeof *mesh || !mesh->sizes || !mesh->place) return;
  if (!parts || count == 0 || parts->size < sizeof *parts) return;
  guarded_value(0, [&] {
    opdump::dump::CallLayout layout{.mesh = {mesh->sizes, mesh->sizes + mesh->rank},
                                    .place = {mesh->place, mesh->place + mesh->rank}};
    const auto* at = reinterpret_cast<const std::byte*>(parts);
    for (std::size_t i = 0; i < count; ++i, at += parts->size) {
      const auto& part = *reinterpret_cast<const opdump_part*>(at);
      if (part.placements)
        layout.slots.emplace((part.is_output ? "output." : "input.") + std::to_string(part.index),
                             part.placements);
    }
    return session->session->set_layout(*unwrap(op), std::move(layout)), 0;
  });
}

void opdump_returned(opdump_session* session, opdump_call* call, const opdump_tensor* outputs, size_t count) {
  if (!session || !call) return;
  guarded_value(0, [&] {
    capture::Session& recording = *session->session;
    recording.returned(*reinterpret_cast<capture::Call*>(call), Operands(recording, outputs, count));
    return 0;
  });
}

void opdump_end(opdump_session* session, opdump_call* call, const opdump_tensor* outputs, size_t count,
                int failed) {
  if (!session || !call) return;
  guarded_value(0, [&] {
    capture::Session& recording = *session->session;
    recording.end(reinterpret_cast<capture::Call*>(call), Operands(recording, outputs, count), failed != 0);
    return 0;
  });
}

void opdump_set_dump(opdump_session* session, const char* name, int enabled) {
  if (!session || !name) return;
  guarded_value(0, [&] {
    session->session->set_dump(name, (enabled & OPDUMP_FLAG_ON) != 0, (enabled & OPDUMP_FLAG_UNNAMED) != 0);
    return 0;
  });
}

void opdump_mark_step(opdump_session* session, opdump_step_end end) {
  if (!session) return;
  using StepEnd = capture::Session::StepEnd;
  session->session->mark_step(end == OPDUMP_STEP_TAIL  ? StepEnd::tail
                              : end == OPDUMP_STEP_CUT ? StepEnd::cut
                                                       : StepEnd::whole);
}

void opdump_raise_alarm(opdump_session* session, const char* kind, const char* text) {
  if (!session || !kind || !text) return;
  guarded_value(0, [&] { return session->session->raise_alarm(kind, text), 0; });
}

void opdump_describe_run(opdump_session* session, const char* name, const char* value) {
  if (!session || !name || !value) return;
  guarded_value(0, [&] { return session->session->describe_run(name, value), 0; });
}

void opdump_report_unseen(opdump_session* session, const char* what, const char* reason) {
  if (!session || !what || !reason) return;
  guarded_value(0, [&] { return session->session->report_unseen(what, reason), 0; });
}

opdump_status opdump_flush(opdump_session* session) {
  if (!session) return OPDUMP_OK;
  return guarded([&] { return session->session->flush(); });
}

opdump_status opdump_rest(opdump_session* session) {
  if (!session) return OPDUMP_OK;
  return guarded([&] { return session->session->rest(); });
}

const char* opdump_directory(const opdump_session* session) {
  return session ? session->session->root().c_str() : "";
}

void opdump_abandon(opdump_session* session) {
  // Deliberately no more: the threads of the session do not exist in the child, its locks may be held for
  // ever, and its files are the parent's. The memory is the price.
  if (session) session->session->abandon();
}
