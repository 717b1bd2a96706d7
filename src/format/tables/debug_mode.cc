#include "format/tables/debug_mode.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>

#include "base/text/json.h"
#include "base/text/text.h"
#include "format/tables/debug_mode_text.h"
#include "model/operator_traits.h"

namespace opdump::format {
namespace {

using Json = nlohmann::json;
using Kind = DebugModeLine::Kind;
using Value = DebugModeValue;

constexpr std::string_view kFormat = "torch.utils._debug_mode.DebugMode.logs";
constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxHashDepth = 16;  // of hashes in hashes
constexpr std::size_t kMaxFrames = 64;     // of a stack

constexpr std::string_view kEnterRecord = "torch._ops.profiler._record_function_enter_new";
constexpr std::string_view kNorm = "L1Norm Value", kHashTensor = "hash_tensor", kOwnHash = "Hash";

const Json kNothing;

const Json& member_of(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? kNothing : *found;
}

std::string_view text_in(const Json& value) {
  return value.is_string() ? std::string_view(value.get_ref<const std::string&>()) : std::string_view();
}

// ---- Hashes: {"type": "scalar", "value": 1.5}, {"type": "tuple", "items": [...]}

// The items of a tuple or a list.
const Json& items_of(const Json& hash) {
  const std::string_view type = text_in(member_of(hash, "type"));
  const Json& items = member_of(hash, "items");
  return (type == "tuple" || type == "list") && items.is_array() ? items : kNothing;
}

// The values of {"type": "dict", "items": [[key, value], ...]} by their keys.
using Entries = std::map<std::string_view, const Json*>;
Entries entries_of(const Json& dict) {
  Entries entries;
  const Json& items = member_of(dict, "items");
  if (text_in(member_of(dict, "type")) != "dict" || !items.is_array()) return entries;
  for (const Json& item : items)
    if (item.is_array() && item.size() == 2 && item[0].is_string())
      entries.emplace(text_in(item[0]), &item[1]);
  return entries;
}

const Json& entry_of(const Entries& entries, std::string_view key) {
  const auto found = entries.find(key);
  return found == entries.end() ? kNothing : *found->second;
}

// Adds the hash of a tensor, or each of the tuple that several functions give.
void add_hash(const Json& hash, DebugModeTensor& tensor, std::size_t depth = 0) {
  const std::string_view type = text_in(member_of(hash, "type"));
  const Json& value = member_of(hash, "value");
  const auto add = [&](std::string_view column, std::string text) {
    const auto has_it = [&](const auto& known) { return known.first == column; };
    if (std::ranges::none_of(tensor.statistics, has_it))
      tensor.statistics.emplace_back(column, std::move(text));
  };
  if (type == "scalar" && value.is_number_float()) add(kNorm, json_text(value));
  if (type == "scalar" && value.is_number_integer()) add(kHashTensor, json_text(value));
  if (type == "scalar" && value.is_string()) add(kOwnHash, value.get<std::string>());
  const std::string_view word = text_in(value);
  if (type == "nonfinite_float" && (word == "nan" || word == "inf" || word == "-inf"))
    add(kNorm, std::string(word));
  if (depth < 2)
    for (const Json& item : items_of(hash)) add_hash(item, tensor, depth + 1);
}

// Of what has no text: the tensors are where the hashes are.
Value value_of_hash(const Json& hash, std::size_t depth = 0) {
  Value value;
  const Json& items = items_of(hash);
  const auto is_integer = [](const Json& item) { return member_of(item, "value").is_number_integer(); };
  const bool is_single = items.is_null() || std::ranges::any_of(items, is_integer);  // of several functions
  if (is_single || depth == kMaxHashDepth) {
    if (!items.is_null() || !member_of(hash, "value").is_null()) value.kind = Value::Kind::tensor;
    return value;
  }
  value.kind = Value::Kind::list;
  for (const Json& item : items) value.items.push_back(value_of_hash(item, depth + 1));
  return value;
}

// ---- Tensors

// Collects the tensors of one side of a call.
class SideTensors {
 public:
  SideTensors(model::Side side, std::vector<DebugModeTensor>& to) : side_(side), to_(to) {}

  // `hash` is null where there is none.
  void add(const Value& value, const Json& hash) {
    if (value.kind == Value::Kind::none) ++next_;
    if (value.kind == Value::Kind::list) {
      const Json& items = items_of(hash);
      const bool is_alike = items.is_array() && items.size() == value.items.size();
      for (std::size_t i = 0; i < value.items.size(); ++i)
        add(value.items[i], is_alike ? items[i] : kNothing);
    }
    if (value.kind != Value::Kind::tensor) return;
    DebugModeTensor& tensor = to_.emplace_back();
    tensor.side = side_;
    tensor.index = next_++;
    tensor.dtype = value.dtype;
    tensor.shape = value.shape;
    add_hash(hash, tensor);
  }

  void add_named(const Value& value, const Json& hash) {
    const std::size_t first = to_.size();
    add(value, hash);
    for (std::size_t i = first; i < to_.size(); ++i) to_[i].argument = value.keyword;
  }

 private:
  model::Side side_;
  std::vector<DebugModeTensor>& to_;
  std::uint32_t next_ = 0;
};

// ---- Arguments

constexpr std::size_t kMaxArguments = 64;  // of an operator, and items of a list

// Nothing if the word is none of a number or a bool.
std::optional<model::Argument> parse_literal(const std::string& word) {
  if (word == "True" || word == "False") return model::Argument{{}, word == "True"};
  if (const auto integer = parse_int64(word)) return model::Argument{{}, *integer};
  double number = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (word.empty() || failed != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return model::Argument{{}, number};
}

// Counts operands as SideTensors does.
std::optional<model::Argument> make_argument(const Value& value, std::uint32_t& next) {
  switch (value.kind) {
    case Value::Kind::none:
      ++next;
      return model::Argument();
    case Value::Kind::tensor:
      return model::Argument{{}, model::Argument::Tensor{next++}};
    case Value::Kind::list: {
      model::Argument::List items;
      for (const Value& item : value.items)
        if (auto argument = make_argument(item, next); argument && items.size() <= kMaxArguments)
          items.push_back(std::move(*argument));
      if (items.size() != value.items.size() || items.size() > kMaxArguments) return std::nullopt;
      return model::Argument{{}, std::move(items)};
    }
    default:
      return parse_literal(value.word);
  }
}

void add_arguments(const std::vector<Value>& values, std::uint32_t& next, DebugModeLine& line) {
  for (std::size_t i = 0; i < values.size() && line.arguments.size() < kMaxArguments; ++i) {
    auto argument = make_argument(values[i], next);
    if (!argument) continue;
    argument->name = values[i].keyword.empty() ? std::to_string(i) : values[i].keyword;
    line.arguments.push_back(std::move(*argument));
  }
}

bool has_kind(const std::vector<Value>& values, Value::Kind kind) {
  return std::ranges::any_of(
      values, [&](const Value& value) { return value.kind == kind || has_kind(value.items, kind); });
}

// "  ->  t: f32[2]"
std::string_view without_arrow(std::string_view output) {
  constexpr std::string_view kArrow = "->";
  output = trim(output);
  return output.starts_with(kArrow) ? trim(output.substr(kArrow.size())) : output;
}

// ---- Lines

// "File "/home/me/train.py", line 12, in forward" of each call, outermost first, with the source between.
std::vector<model::Frame> parse_stack(std::string_view text) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kFunction = ", in ";
  std::vector<model::Frame> frames;
  for (std::size_t end = text.size(); end > 0 && frames.size() < kMaxFrames;) {
    const std::size_t feed = text.rfind('\n', end - 1);
    const std::size_t begin = feed == std::string_view::npos ? 0 : feed + 1;
    const std::string_view line = trim(text.substr(begin, end - begin));
    end = begin == 0 ? 0 : begin - 1;
    const std::size_t function = line.rfind(kFunction);
    const std::size_t number = line.rfind(kLine, function);
    if (!line.starts_with(kFile) || function == line.npos || number == line.npos) continue;
    const std::size_t digits = number + kLine.size();
    const auto row = parse_int64(line.substr(digits, std::max(function, digits) - digits));
    if (!row || *row < 0 || *row > INT32_MAX) continue;
    frames.push_back({std::string(line.substr(kFile.size(), number - kFile.size())), static_cast<int>(*row),
                      std::string(line.substr(function + kFunction.size()))});
  }
  return frames;
}

void read_stack(const Json& entry, DebugModeLine& line) {
  const std::string_view own = text_in(member_of(entry, "stack_trace"));
  const std::string_view forward = text_in(member_of(entry, "fwd_stack_trace"));
  line.is_backward = !forward.empty() && forward != own;
  line.stack = parse_stack(forward.empty() ? own : forward);
}

// Collectives that go on behind what the log says of them: their results are hashed before they are there.
bool is_unfinished(std::string_view name, model::Side side) {
  constexpr std::string_view kCollectives = "_c10d_functional::", kWait = "wait_tensor",
                             kWrap = "_wrap_tensor";
  if (!name.starts_with(kCollectives)) return false;
  name.remove_prefix(kCollectives.size());
  if (name.starts_with(kWait)) return side == model::Side::input;
  return side == model::Side::output || name.starts_with(kWrap);
}

// Memory that kernels write only in part: the workspace of a recurrent layer, and what its backward pass
// reads.
bool is_workspace(const DebugModeTensor& tensor, std::string_view name) {
  constexpr std::string_view kLayer = "aten::mkldnn_rnn_layer", kBackward = "aten::mkldnn_rnn_layer_backward";
  return (name == kLayer && tensor.side == model::Side::output && tensor.index == 3) ||
         (name == kBackward && tensor.side == model::Side::input && tensor.dtype == model::DType::uint8);
}

// "aten::copy_.default" -> "copy_"
std::string_view type_of(std::string_view name) {
  const std::size_t colons = name.find("::");
  name = name.substr(colons == name.npos ? 0 : colons + 2);
  return name.substr(0, name.find('.'));
}

// An operator on tensors; nothing of what only leads to such ones: a call of Python's API, an operator on
// DTensors; nor of one on fake tensors, which computes nothing.
void read_operator(const Json& entry, DebugModeLine& line) {
  line.name = text_in(member_of(entry, "op_name"));
  const auto positional = parse_debug_mode_values(text_in(member_of(entry, "args_str")));
  const auto keywords = parse_debug_mode_values(text_in(member_of(entry, "kwargs_str")));
  const bool is_api = line.name.find("::") == std::string::npos;
  const auto has = [&](Value::Kind kind) { return has_kind(positional, kind) || has_kind(keywords, kind); };
  if (is_api || has(Value::Kind::dtensor)) return;
  --line.level;
  const Json& output = member_of(entry, "output_str");
  const auto results = parse_debug_mode_values(without_arrow(text_in(output)));
  if (has(Value::Kind::fake_tensor) || has_kind(results, Value::Kind::fake_tensor)) return;
  line.kind = Kind::call;
  std::uint32_t operand = 0;
  add_arguments(positional, operand, line);
  add_arguments(keywords, operand, line);
  const Entries log = entries_of(member_of(entry, "log"));
  const Json& input_hashes = items_of(entry_of(log, "input_hash"));  // of arguments, and of keywords
  const auto part_of = [&](std::size_t i) -> const Json& {
    return i < input_hashes.size() ? input_hashes[i] : kNothing;
  };
  const Json& of_arguments = items_of(part_of(0));
  const Entries of_keywords = entries_of(part_of(1));
  const bool drops_inputs = is_unfinished(line.name, model::Side::input);
  const bool drops_first = model::has_trait(type_of(line.name), model::Trait::overwrites);
  SideTensors inputs(model::Side::input, line.tensors);
  for (std::size_t i = 0; i < positional.size(); ++i) {
    const bool has_hash =
        of_arguments.size() == positional.size() && !drops_inputs && (i > 0 || !drops_first);
    inputs.add(positional[i], has_hash ? of_arguments[i] : kNothing);
  }
  for (const Value& value : keywords)
    inputs.add(value,
               drops_inputs || value.keyword == "out" ? kNothing : entry_of(of_keywords, value.keyword));
  const Json& hash = is_unfinished(line.name, model::Side::output) ? kNothing : entry_of(log, "hash");
  SideTensors outputs(model::Side::output, line.tensors);
  const bool is_unprinted = output.is_null();
  const Value whole = is_unprinted ? value_of_hash(hash) : results.empty() ? Value() : results[0];
  // A function has one result, or a tuple of them.
  outputs.add(whole, hash);
  for (DebugModeTensor& tensor : line.tensors)
    if (is_workspace(tensor, line.name)) tensor.statistics.clear();
}

// Every argument is hashed before the launch, and after it.
void read_kernel(const Json& entry, DebugModeLine& line) {
  line.kind = Kind::call;
  line.is_kernel = true;
  line.name = text_in(member_of(entry, "kernel_name"));
  --line.level;
  const Entries before = entries_of(member_of(entry, "pre_hashes"));
  const Entries after = entries_of(member_of(entry, "post_hashes"));
  SideTensors inputs(model::Side::input, line.tensors), outputs(model::Side::output, line.tensors);
  for (const Value& value : parse_debug_mode_values(text_in(member_of(entry, "kwargs_str")))) {
    const bool is_written = !value.keyword.starts_with("in_ptr"),
               is_read = !value.keyword.starts_with("out_ptr");
    if (is_read) inputs.add_named(value, entry_of(before, value.keyword));
    if (is_written) outputs.add_named(value, entry_of(after, value.keyword));
  }
}

void read_annotation(const Json& entry, DebugModeLine& line) {
  const std::string_view header = text_in(member_of(entry, "header"));
  line.name = text_in(member_of(entry, "tag"));
  if (header == "record function") {
    line.kind = Kind::record;
    line.inner_level = line.level + 1;
  } else if (header.starts_with("nn.Mod")) {
    line.kind = header.ends_with("bwd)") ? Kind::module_backward : Kind::module;
    line.is_compiled = header.ends_with(')');
    line.inner_level = line.level--;
  }
}

void read_nothing(const Json& /*entry*/, DebugModeLine& line) { --line.level; }

// A text of a line.
struct LineText {
  const char* name = nullptr;
  std::size_t most_bytes = 0;
};
// Names are parts of those of many operators.
constexpr std::size_t kMaxName = 512, kMaxText = 4 << 20;

// What a type of lines has beside a call_depth.
struct LineType {
  std::string_view name;
  std::array<LineText, 3> texts;
  void (*read)(const Json& entry, DebugModeLine& line);
};
constexpr LineType kLineTypes[] = {
    {"op", {{{"op_name", kMaxName}, {"args_str", kMaxText}, {"kwargs_str", kMaxText}}}, read_operator},
    {"triton_kernel", {{{"kernel_name", kMaxName}, {"kwargs_str", kMaxText}}}, read_kernel},
    {"annotate", {{{"tag", kMaxName}, {"header", kMaxName}}}, read_annotation},
    {"redistribute", {}, read_nothing},
    {"output_placement", {}, read_nothing}};

class Decoder {
 public:
  explicit Decoder(const TakeDebugModeLine& take) : take_(take) {}

  Result<DebugModeFaults> decode(std::string_view text) {
    const auto done = parse_items(
        text, "logs", [&](const std::string& name, const Json& value) { note_member(name, value); },
        [&](const Json& entry) { add(entry); });
    if (!is_supported() && (done || !refused_.empty()))
      return Error(Code::unsupported, refused_.empty() ? "no format and version before the logs" : refused_);
    if (!done) return done.error();
    return faults_;
  }

 private:
  bool is_supported() const { return has_format_ && has_version_ && refused_.empty(); }

  void note_member(const std::string& name, const Json& value) {
    if (name == "format") has_format_ = check(name, value, text_in(value) == kFormat, quote(kFormat));
    if (name == "version")
      has_version_ =
          check(name, value, value.is_number_integer() && value == kVersion, std::to_string(kVersion));
  }

  bool check(const std::string& name, const Json& value, bool is_right, const std::string& expected) {
    if (!is_right && refused_.empty()) refused_ = name + " is " + json_text(value) + "; expected " + expected;
    return is_right;
  }

  void add(const Json& entry) {
    const std::uint64_t number = count_++;
    if (!is_supported()) return;
    DebugModeLine line;
    const std::string fault = read(entry, line);
    if (fault.empty()) {
      // The call of Python's API that begins a record counts no more within it.
      if (line.kind == Kind::record && is_record_called_) --line.level, --line.inner_level;
      is_record_called_ = line.kind == Kind::other && line.name == kEnterRecord;
      return take_(std::move(line));
    }
    if (faults_.first.empty()) faults_.first = "logs[" + std::to_string(number) + "]: " + fault;
  }

  // Returns what is wrong.
  std::string read(const Json& entry, DebugModeLine& line) {
    const Json &type = member_of(entry, "type"), &depth = member_of(entry, "call_depth");
    const LineType* const known = std::ranges::find(kLineTypes, text_in(type), &LineType::name);
    const bool is_known = known != std::end(kLineTypes);
    if (!is_known && type.is_string()) {
      ++faults_.unknown;
      return "the type " + quote(text_in(type)) + " is not known";
    }
    ++faults_.damaged;
    if (!is_known) return "no type";
    if (!depth.is_number_integer() || depth.get<std::int64_t>() < 0 || depth.get<std::int64_t>() > INT32_MAX)
      return "no call_depth that is a number from 0 on";
    for (const LineText& text : known->texts) {
      if (text.name == nullptr) break;
      const Json& value = member_of(entry, text.name);
      if (!value.is_string()) return std::string(text.name) + " is no text";
      if (text_in(value).size() > text.most_bytes) return std::string(text.name) + " is too long";
    }
    --faults_.damaged;
    line.level = depth.get<std::int64_t>();
    known->read(entry, line);
    if (line.kind == Kind::call) read_stack(entry, line);
    return {};
  }

  const TakeDebugModeLine& take_;
  DebugModeFaults faults_;
  std::uint64_t count_ = 0;
  bool has_format_ = false, has_version_ = false;
  bool is_record_called_ = false;  // by the last line
  std::string refused_;            // why the text is none that we read
};

}  // namespace

bool is_debug_mode(std::string_view start) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::string format_text = quote(kFormat);
  for (const std::string_view word : {std::string_view("{"), std::string_view("\"format\""),
                                      std::string_view(":"), std::string_view(format_text)}) {
    start.remove_prefix(std::min(start.find_first_not_of(kBlanks), start.size()));
    if (!start.starts_with(word)) return false;
    start.remove_prefix(word.size());
  }
  return true;
}

Result<DebugModeFaults> decode_debug_mode(std::string_view text, const TakeDebugModeLine& take) {
  return Decoder(take).decode(text);
}

}  // namespace opdump::format
