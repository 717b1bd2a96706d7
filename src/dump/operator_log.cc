#include "dump/operator_log.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text/json.h"
#include "base/text/text.h"
#include "dump/write/tree_file.h"

namespace opdump::dump {
namespace {

using nlohmann::json;

// Names come from programs and may be any bytes; a JSON text may not.
std::string line_of(const json& object) { return json_text(object) + '\n'; }

// Nothing where the key is missing or its value has another type or is too large for T.
template <typename T>
std::optional<T> find_integer(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  const auto value = found->get<std::int64_t>();
  if (!std::in_range<T>(value)) return std::nullopt;
  return static_cast<T>(value);
}

std::optional<std::string> find_text(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

template <std::size_t N>
std::optional<std::size_t> find_word(const json& object, const char* key,
                                     const std::string_view (&words)[N]) {
  const auto text = find_text(object, key);
  const auto found = std::find(words, words + N, text.value_or(""));
  if (!text || found == words + N) return std::nullopt;
  return static_cast<std::size_t>(found - words);
}

std::optional<std::vector<std::string>> find_texts(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return std::nullopt;
  std::vector<std::string> texts;
  for (const json& item : *found)
    if (item.is_string()) texts.push_back(item.get<std::string>());
  return texts;
}

std::optional<LoggedOperator> parse_operator(const json& object) {
  const auto type = find_text(object, "type");
  const auto name = find_text(object, "name");
  const auto phase = find_word(object, "phase", model::kPhaseNames);
  const auto graph_id = find_integer<std::int64_t>(object, "graph_id");
  const auto stream = find_integer<std::int64_t>(object, "stream");
  if (!type || !name || !phase || !graph_id || !stream) return std::nullopt;
  std::vector<model::Frame> stack;
  for (const std::string& text : find_texts(object, "stack").value_or(std::vector<std::string>()))
    if (auto frame = model::parse_frame(text)) stack.push_back(std::move(*frame));
  model::Operator op{.type = *type,
                     .name = *name,
                     .phase = static_cast<model::Phase>(*phase),
                     .graph_id = *graph_id,
                     .stream = *stream,
                     .source_file = find_text(object, "source_file").value_or(""),
                     .source_line = find_integer<int>(object, "source_line").value_or(0),
                     .module = find_text(object, "module").value_or(""),
                     .original_names = find_texts(object, "original_names")};
  LoggedOperator logged(std::move(op), std::move(stack));
  logged.since = find_integer<std::int64_t>(object, "step");
  return logged;
}

std::optional<std::vector<std::int64_t>> find_numbers(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const json& item : *found) {
    if (!item.is_number_integer()) return std::nullopt;
    numbers.push_back(item.get<std::int64_t>());
  }
  return numbers;
}

std::optional<UndumpedSlot> parse_slot(const json& object) {
  const auto name = find_text(object, "name");
  const auto graph_id = find_integer<std::int64_t>(object, "graph_id");
  const auto step = find_integer<std::int64_t>(object, "step");
  const auto side = find_word(object, "side", model::kSideNames);
  const auto index = find_integer<std::uint32_t>(object, "index");
  const auto dtype = find_text(object, "dtype");
  const auto reason = find_text(object, "reason");
  const auto shape = find_numbers(object, "shape");
  if (!name || !graph_id || !step || !side || !index || !dtype || !reason || !shape) return std::nullopt;
  return UndumpedSlot{.operator_name = *name,
                      .graph_id = *graph_id,
                      .step = *step,
                      .side = static_cast<model::Side>(*side),
                      .index = *index,
                      .dtype = model::find_dtype(*dtype).value_or(model::DType::undefined),
                      .shape = model::Shape(*shape),
                      .reason = *reason};
}

std::optional<LoggedForm> parse_call(const json& object) {
  const auto name = find_text(object, "name");
  const auto graph_id = find_integer<std::int64_t>(object, "graph_id");
  const auto step = find_integer<std::int64_t>(object, "step");
  const auto arguments = object.find("arguments");
  if (!name || !graph_id || !step || arguments == object.end() || !arguments->is_object())
    return std::nullopt;
  return LoggedForm{
      .operator_name = *name,
      .graph_id = *graph_id,
      .step = *step,
      .form = {.function = find_text(object, "function").value_or(""),
               .arguments = {},
               .state = object.contains("state") && object["state"].is_object() ? json_text(object["state"])
                                                                                : ""}};
}

std::optional<LoggedLayout> parse_layout(const json& object) {
  const auto name = find_text(object, "name");
  const auto graph_id = find_integer<std::int64_t>(object, "graph_id");
  const auto step = find_integer<std::int64_t>(object, "step");
  auto mesh = find_numbers(object, "mesh"), place = find_numbers(object, "place");
  const auto slots = object.find("slots");
  if (!name || !graph_id || !step || !mesh || !place || slots == object.end() || !slots->is_object())
    return std::nullopt;
  LoggedLayout logged{*name, *graph_id, *step, {.mesh = std::move(*mesh), .place = std::move(*place)}};
  for (const auto& [slot, placements] : slots->items()) {
    if (!placements.is_string()) return std::nullopt;
    logged.layout.slots.emplace(slot, placements.get<std::string>());
  }
  return logged;
}

// The maker is the operator under the key "maker"; `output` and `steps_before` are 0 where they are absent.
std::optional<CallWiring::Maker> parse_maker(const json& object) {
  const auto name = object.is_object() ? find_text(object, "maker") : std::nullopt;
  const auto number = [&](const char* key) {
    return object.contains(key) ? find_integer<std::uint32_t>(object, key) : std::uint32_t{0};
  };
  const auto output = name ? number("output") : std::nullopt, steps = name ? number("steps_before") : output;
  if (!output || !steps) return std::nullopt;
  return CallWiring::Maker{.name = *name, .output = *output, .steps_before = *steps};
}

bool parse_view(const json& object, CallWiring::Input& input) {
  const auto view = object.find("view");
  if (view == object.end()) return true;
  input.is_view = true;
  if (view->is_boolean()) return view->get<bool>();
  const auto offset = view->is_object() ? find_integer<std::int64_t>(*view, "offset") : std::nullopt;
  auto strides = view->is_object() ? find_numbers(*view, "strides") : std::nullopt;
  if (!offset || !strides) return false;
  input.view = CallWiring::View{*offset, std::move(*strides)};
  return true;
}

std::optional<CallWiring::Input> parse_input(const std::string& index, const json& value) {
  const auto number = parse_uint64(index);
  if (!number || !std::in_range<std::uint32_t>(*number) || !(value.is_null() || value.is_object()))
    return std::nullopt;
  CallWiring::Input input{.index = static_cast<std::uint32_t>(*number), .is_outside = value.is_null()};
  if (value.is_null()) return input;
  if (const auto maker = value.find("maker"); maker != value.end() && maker->is_null())
    input.is_outside = true;
  else if (maker != value.end() && !(input.maker = parse_maker(value)))
    return std::nullopt;
  if (!parse_view(value, input)) return std::nullopt;
  if (const auto overwrites = value.find("overwrites"); overwrites != value.end())
    input.is_overwritten = overwrites->is_boolean() && overwrites->get<bool>();
  const auto changes = value.find("changed_by");
  if (changes == value.end()) return input;
  if (!changes->is_array()) return std::nullopt;
  for (const json& change : *changes) {
    auto maker = parse_maker(change);
    if (!maker) return std::nullopt;
    input.changed_by.push_back(std::move(*maker));
  }
  return input;
}

std::optional<LoggedWiring> parse_wiring(const json& object) {
  const auto name = find_text(object, "name");
  const auto graph_id = find_integer<std::int64_t>(object, "graph_id");
  const auto step = find_integer<std::int64_t>(object, "step");
  const auto inputs = object.find("inputs");
  if (!name || !graph_id || !step || inputs == object.end() || !inputs->is_object()) return std::nullopt;
  LoggedWiring logged{*name, *graph_id, *step, {}};
  for (const auto& [index, value] : inputs->items()) {
    auto input = parse_input(index, value);
    if (!input) return std::nullopt;
    logged.wiring.inputs.push_back(std::move(*input));
  }
  std::ranges::sort(logged.wiring.inputs, {}, &CallWiring::Input::index);
  const auto twice = std::ranges::adjacent_find(logged.wiring.inputs, {}, &CallWiring::Input::index);
  if (twice != logged.wiring.inputs.end()) return std::nullopt;
  return logged;
}

// The value of the key "arguments", which comes last, as it is in the line: in the order of the schema.
std::string arguments_of(std::string_view line) {
  constexpr std::string_view kKey = R"(,"arguments":)";
  const std::size_t at = line.find(kKey);
  return at == std::string_view::npos
             ? ""
             : std::string(line.substr(at + kKey.size(), line.size() - at - kKey.size() - 1));
}

// Most texts need no escapes.
void append_quoted(std::string& line, std::string_view text) {
  const bool is_plain =
      std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (is_plain)
    line.append("\"").append(text).append("\"");
  else
    line += json_text(json(text));
}

void append_maker(std::string& line, const CallWiring::Maker& maker) {
  append_quoted(line += R"("maker":)", maker.name);
  if (maker.output != 0) line.append(R"(,"output":)").append(std::to_string(maker.output));
  if (maker.steps_before != 0) line.append(R"(,"steps_before":)").append(std::to_string(maker.steps_before));
}

void append_view(std::string& line, const std::optional<CallWiring::View>& view) {
  if (line.back() != '{') line += ',';
  if (!view) {
    line += R"("view":true)";
    return;
  }
  line.append(R"("view":{"offset":)").append(std::to_string(view->offset)).append(R"(,"strides":[)");
  for (std::size_t axis = 0; axis < view->strides.size(); ++axis)
    line.append(axis == 0 ? "" : ",").append(std::to_string(view->strides[axis]));
  line += "]}";
}

void append_input(std::string& line, const CallWiring::Input& input) {
  if (input.is_outside && input.changed_by.empty()) {
    line += "null";
    return;
  }
  line += '{';
  if (input.maker)
    append_maker(line, *input.maker);
  else if (input.is_outside)
    line += R"("maker":null)";
  if (input.is_view) append_view(line, input.view);
  if (input.is_overwritten) line += line.back() == '{' ? R"("overwrites":true)" : R"(,"overwrites":true)";
  if (!input.changed_by.empty()) {
    line += line.back() == '{' ? R"("changed_by":[)" : R"(,"changed_by":[)";
    for (const CallWiring::Maker& maker : input.changed_by) {
      append_maker(line += &maker == input.changed_by.data() ? "{" : ",{", maker);
      line += '}';
    }
    line += ']';
  }
  line += '}';
}

// Appends JSON without making values of it: a random operator has a line in each step.
struct ArgumentAppender {
  std::string& text;
  void operator()(model::Argument::None) const { text += "null"; }
  void operator()(bool value) const { text += value ? "true" : "false"; }
  void operator()(std::int64_t value) const { text += std::to_string(value); }
  void operator()(double value) const {
    if (std::isfinite(value))
      text += json_text(json(value));
    else
      text.append(R"({"float":")")
          .append(std::isnan(value) ? "nan"
                  : value > 0       ? "inf"
                                    : "-inf")
          .append("\"}");
  }
  void operator()(const std::string& value) const { append_quoted(text, value); }
  void operator()(const model::Argument::Tensor& value) const {
    text.append(R"({"tensor":)").append(std::to_string(value.operand));
    if (!value.constant.empty()) append_quoted(text += R"(,"constant":)", value.constant);
    text += '}';
  }
  void operator()(const model::Argument::List& items) const {
    text += '[';
    for (const model::Argument& item : items) {
      if (&item != items.data()) text += ',';
      std::visit(*this, item.value);
    }
    text += ']';
  }
};

}  // namespace

std::string encode_call_arguments(std::span<const model::Argument> arguments) {
  std::string text = "{";
  for (const model::Argument& argument : arguments) {
    if (text.size() > 1) text += ',';
    append_quoted(text, argument.name);
    text += ':';
    std::visit(ArgumentAppender{text}, argument.value);
  }
  return text += '}';
}

std::string encode_call_state(const std::map<std::string, std::string>& state) {
  std::string text;
  for (const auto& [name, value] : state) {
    append_quoted(text += text.empty() ? '{' : ',', name);
    append_quoted(text += ':', value);
  }
  return state.empty() ? text : text += '}';
}

Result<OperatorLogWriter> OperatorLogWriter::open(const std::filesystem::path& rank_directory) {
  OperatorLogWriter writer;
  writer.path_ = rank_directory / kOperatorLogName;
  OPDUMP_TRY(Fd fd, open_append(writer.path_, ""));
  writer.fd_ = move_high(std::move(fd));
  return writer;
}

std::string format_log_line(const LoggedOperator& op) {
  json object{{"kind", "operator"},      {"type", op.type},
              {"name", op.name},         {"phase", model::kPhaseNames[static_cast<int>(op.phase)]},
              {"graph_id", op.graph_id}, {"stream", op.stream}};
  if (!op.source_file.empty()) {
    object["source_file"] = op.source_file;
    object["source_line"] = op.source_line;
  }
  if (!op.module.empty()) object["module"] = op.module;
  if (op.original_names) object["original_names"] = *op.original_names;
  for (const model::Frame& frame : op.stack) object["stack"].push_back(model::format_frame(frame));
  if (op.since) object["step"] = *op.since;
  return line_of(object);
}

std::string format_log_line(const UndumpedSlot& slot) {
  return line_of({{"kind", "slot"},
                  {"name", slot.operator_name},
                  {"graph_id", slot.graph_id},
                  {"step", slot.step},
                  {"side", model::kSideNames[static_cast<int>(slot.side)]},
                  {"index", slot.index},
                  {"dtype", model::dtype_info(slot.dtype).name},
                  {"shape", slot.shape.dims()},
                  {"reason", slot.reason}});
}

// The arguments come last: their order counts, which a parsed object does not keep.
std::string format_log_line(const LoggedForm& call) {
  std::string line = R"({"function":)";
  append_quoted(line, call.form.function);
  line.append(R"(,"graph_id":)").append(std::to_string(call.graph_id));
  append_quoted(line.append(R"(,"kind":"call","name":)"), call.operator_name);
  if (!call.form.state.empty()) line.append(R"(,"state":)").append(call.form.state);
  line.append(R"(,"step":)").append(std::to_string(call.step));
  line.append(R"(,"arguments":)").append(call.form.arguments.empty() ? "{}" : call.form.arguments);
  return line += "}\n";
}

std::string format_log_line(const LoggedLayout& logged) {
  return line_of({{"kind", "layout"},
                  {"name", logged.operator_name},
                  {"graph_id", logged.graph_id},
                  {"step", logged.step},
                  {"mesh", logged.layout.mesh},
                  {"place", logged.layout.place},
                  {"slots", logged.layout.slots}});
}

// Made without values of JSON: each operator has such lines.
std::string format_log_line(const LoggedWiring& logged) {
  std::string line = R"({"graph_id":)" + std::to_string(logged.graph_id) + R"(,"inputs":{)";
  for (const CallWiring::Input& input : logged.wiring.inputs) {
    if (&input != logged.wiring.inputs.data()) line += ',';
    append_input(line.append("\"").append(std::to_string(input.index)).append("\":"), input);
  }
  append_quoted(line += R"(},"kind":"wiring","name":)", logged.operator_name);
  return line.append(R"(,"step":)").append(std::to_string(logged.step)).append("}\n");
}

void OperatorLogWriter::add(const LoggedOperator& op) { buffer_ += format_log_line(op); }
void OperatorLogWriter::add(const UndumpedSlot& slot) { buffer_ += format_log_line(slot); }
void OperatorLogWriter::add(const LoggedForm& call) { buffer_ += format_log_line(call); }
void OperatorLogWriter::add(const LoggedLayout& layout) { buffer_ += format_log_line(layout); }
void OperatorLogWriter::add(const LoggedWiring& logged) { buffer_ += format_log_line(logged); }

Result<> OperatorLogWriter::flush() {
  const std::string lines = std::exchange(buffer_, {});
  if (!fd_) return ok();
  OPDUMP_CHECK_OK(hold_append(fd_, path_));
  return write_all(fd_, std::as_bytes(std::span(lines)), path_);
}

LogLine decode_log_line(std::string_view line) {
  const json object = parse_json(line);
  const std::string kind = object.is_object() ? find_text(object, "kind").value_or("") : "";
  if (auto op = kind == "operator" ? parse_operator(object) : std::nullopt) return std::move(*op);
  if (auto slot = kind == "slot" ? parse_slot(object) : std::nullopt) return std::move(*slot);
  if (auto call = kind == "call" ? parse_call(object) : std::nullopt) {
    call->form.arguments = arguments_of(line);
    return std::move(*call);
  }
  if (auto layout = kind == "layout" ? parse_layout(object) : std::nullopt) return std::move(*layout);
  if (auto logged = kind == "wiring" ? parse_wiring(object) : std::nullopt) return std::move(*logged);
  return {};
}

Result<std::uint64_t> decode_operator_log(std::string_view text, const TakeLogLine& take) {
  std::uint64_t damaged = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const bool torn = end == text.size();
    LogLine line = torn ? LogLine() : decode_log_line(text.substr(0, end));
    text.remove_prefix(torn ? end : end + 1);
    if (auto* const op = std::get_if<LoggedOperator>(&line)) {
      OPDUMP_CHECK_OK(take.op(std::move(*op)));
    } else if (auto* const slot = std::get_if<UndumpedSlot>(&line)) {
      OPDUMP_CHECK_OK(take.slot(std::move(*slot)));
    } else if (auto* const call = std::get_if<LoggedForm>(&line)) {
      if (take.call) OPDUMP_CHECK_OK(take.call(std::move(*call)));
    } else if (auto* const layout = std::get_if<LoggedLayout>(&line)) {
      if (take.layout) OPDUMP_CHECK_OK(take.layout(std::move(*layout)));
    } else if (auto* const logged = std::get_if<LoggedWiring>(&line)) {
      if (take.wiring) OPDUMP_CHECK_OK(take.wiring(std::move(*logged)));
    } else {
      ++damaged;
    }
  }
  return damaged;
}

Result<std::uint64_t> read_operator_log(const std::filesystem::path& rank_directory,
                                        const TakeLogLine& take) {
  OPDUMP_TRY(const MappedFile file, MappedFile::open(rank_directory / kOperatorLogName));
  const auto bytes = file.bytes();
  return decode_operator_log({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, take);
}

}  // namespace opdump::dump
