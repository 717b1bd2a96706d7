#include "format/tables/msprobe.h"

#include <algorithm>
#include <span>

#include "base/text/json.h"
#include "base/text/text.h"

namespace opdump::format {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxDepth = 64;  // of lists and dicts among the arguments of a call
// Positions of arguments that are no plain ones follow all that are.
constexpr std::uint32_t kFirstNamed = 1 << 16;

// Where the tensors of a member of a call belong.
struct Category {
  std::string_view member;
  model::Side side;
  std::string_view prefix;  // of the names of its tensors
};
constexpr Category kCategories[] = {{"input_args", model::Side::input, ""},
                                    {"input_kwargs", model::Side::input, ""},
                                    {"input", model::Side::input, ""},
                                    {"parameters", model::Side::input, "parameters."},
                                    {"output", model::Side::output, ""}};

struct StatisticColumn {
  std::string_view member, column;
};
// What msprobe calls md5 is a CRC-32 of the elements, or "0x" and all of them combined by XOR.
constexpr std::string_view kXorStart = "0x", kXorColumn = "XOR";
constexpr StatisticColumn kStatistics[] = {{"Max", "Max Value"},
                                           {"Min", "Min Value"},
                                           {"Mean", "Avg Value"},
                                           {"Norm", "L2Norm Value"},
                                           {"md5", "CRC-32"}};

// As tables of statistics have it; empty for null, which stands for no value.
std::string statistic_text(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_number()) return json_text(value);
  if (!value.is_string()) return {};
  std::string text = value.get<std::string>();
  if (text == "NaN") return "nan";
  if (text == "Infinity") return "inf";
  return text == "-Infinity" ? "-inf" : text;
}

std::string text_of(const Json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<model::Shape> shape_of(const Json& dims) {
  if (!dims.is_array()) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (const Json& dim : dims) {
    if (!dim.is_number_integer() || dim.get<std::int64_t>() < 0) return std::nullopt;
    sizes.push_back(dim.get<std::int64_t>());
  }
  return model::Shape(std::span<const std::int64_t>(sizes));
}

// "torch.float32", "Float32", "float32"
model::DType dtype_of(std::string_view name) {
  name.remove_prefix(name.rfind('.') == std::string_view::npos ? 0 : name.rfind('.') + 1);
  if (name == "float8_e4m3fn") return model::DType::float8_e4m3;
  if (name == "float8_e8m0fnu") return model::DType::float8_e8m0;
  return model::find_dtype(name).value_or(model::DType::undefined);
}

// Collects the tensors of a call.
class CallTensors {
 public:
  // Returns whether the call is as msprobe writes it.
  bool add(const Json& call) {
    if (!call.is_object() && !call.is_array()) return false;
    bool has_category = false;
    for (const Category& category : kCategories) {
      const auto member = call.is_object() ? call.find(category.member) : call.end();
      if (member == call.end()) continue;
      has_category = true;
      is_plain_ = category.prefix.empty();
      walk(*member, category.side, category.prefix, 0);
    }
    is_plain_ = false;
    if (!has_category) add_other(call);
    return !is_odd_;
  }
  std::vector<MsprobeTensor> take() { return std::move(tensors_); }

 private:
  void walk(const Json& value, model::Side side, std::string_view path, std::size_t depth) {
    if (depth > kMaxDepth) {
      is_odd_ = true;
      return;
    }
    if (value.is_object() && value.contains("dtype") && value.contains("shape"))
      return add_tensor(value, side, path);
    const std::string begin =
        path.empty() || path.ends_with('.') ? std::string(path) : std::string(path) + ".";
    if (value.is_array())
      for (std::size_t i = 0; i < value.size(); ++i)
        walk(value[i], side, begin + std::to_string(i), depth + 1);
    else if (value.is_object())
      for (const auto& [key, member] : value.items()) walk(member, side, begin + key, depth + 1);
  }

  // Gradients of parameters, {"weight": [tensor]}; or a variable that the program saved, whatever it is.
  void add_other(const Json& call) {
    const auto is_gradient = [](const Json& member) { return member.is_array() && member.size() == 1; };
    if (!call.is_object() || !std::ranges::all_of(call, is_gradient))
      return walk(call, model::Side::output, "", 0);
    for (const auto& [parameter, gradient] : call.items())
      walk(gradient[0], model::Side::output, parameter, 0);
  }

  void add_tensor(const Json& value, model::Side side, std::string_view path) {
    MsprobeTensor tensor;
    tensor.side = side;
    const auto position = path.empty() ? 0 : is_plain_ ? parse_uint64(path) : std::nullopt;
    if (position && *position < kFirstNamed) {
      tensor.index = static_cast<std::uint32_t>(*position);
    } else {
      tensor.argument = path;
      std::uint32_t& next = next_[static_cast<std::size_t>(side)];
      tensor.index = kFirstNamed + next++;
    }
    tensor.dtype = dtype_of(text_of(value, "dtype"));
    tensor.shape = shape_of(value["shape"]);
    is_odd_ = is_odd_ || !tensor.shape;
    for (const StatisticColumn& column : kStatistics) {
      const auto member = value.find(column.member);
      std::string text = member != value.end() ? statistic_text(*member) : std::string();
      if (text.empty()) continue;
      tensor.statistics.emplace_back(text.starts_with(kXorStart) ? kXorColumn : column.column,
                                     std::move(text));
    }
    tensor.data_name = text_of(value, "data_name");
    tensors_.push_back(std::move(tensor));
  }

  std::vector<MsprobeTensor> tensors_;
  std::uint32_t next_[2] = {0, 0};  // of each side, positions behind kFirstNamed
  bool is_plain_ = false, is_odd_ = false;
};

// {"type": "float", "value": 1e-05}: a number, a word or nothing; discarded if it is something else.
Json plain_value(const Json& argument) {
  const Json other(Json::value_t::discarded);
  if (!argument.is_object() || argument.size() != 2 || !argument.contains("type")) return other;
  const auto value = argument.find("value");
  return value == argument.end() || value->is_structured() ? other : *value;
}

Json value_of(const Json& argument) {
  if (!argument.is_array()) return plain_value(argument);
  Json list = Json::array();
  for (const Json& element : argument) {
    list.push_back(plain_value(element));
    if (list.back().is_discarded()) return list.back();
  }
  return list;
}

std::string arguments_of(const Json& call) {
  Json values = Json::object();
  const auto add = [&](const std::string& name, const Json& argument) {
    if (Json value = value_of(argument); !value.is_discarded()) values[name] = std::move(value);
  };
  if (!call.is_object()) return json_text(values);
  if (const auto plain = call.find("input_args"); plain != call.end() && plain->is_array())
    for (std::size_t i = 0; i < plain->size(); ++i) add(std::to_string(i), (*plain)[i]);
  if (const auto named = call.find("input_kwargs"); named != call.end() && named->is_object())
    for (const auto& [name, argument] : named->items()) add(name, argument);
  return json_text(values);
}

// "File /home/me/train.py, line 12, in forward, \n x = self.conv1(x)"
std::optional<model::Frame> parse_stack_line(std::string_view text) {
  constexpr std::string_view kFile = "File ", kLine = ", line ", kFunction = ", in ";
  const std::size_t function = text.find(kFunction, std::min(text.find(kLine), text.size()));
  const std::size_t line = text.rfind(kLine, function);
  if (!text.starts_with(kFile) || function == text.npos || line == text.npos) return std::nullopt;
  const auto number = parse_int64(text.substr(line + kLine.size(), function - line - kLine.size()));
  if (!number || *number < 0 || *number > INT32_MAX) return std::nullopt;
  const std::string_view rest = text.substr(function + kFunction.size());
  return model::Frame{std::string(text.substr(kFile.size(), line - kFile.size())), static_cast<int>(*number),
                      std::string(trim(rest.substr(0, rest.find(','))))};
}

std::vector<model::Frame> parse_frames(const Json& lines) {
  std::vector<model::Frame> frames;
  if (!lines.is_array()) return frames;
  for (const Json& line : lines)
    if (line.is_string())
      if (auto frame = parse_stack_line(line.get_ref<const std::string&>()))
        frames.push_back(std::move(*frame));
  return frames;
}

}  // namespace

MsprobeName parse_msprobe_name(std::string_view name) {
  MsprobeName parsed;
  std::vector<std::string_view> parts = split(name, '.');
  const bool is_module = parts[0] == "Module" || parts[0] == "Cell";
  // Numbers, and the direction, from the right.
  for (; parts.size() > 1; parts.pop_back()) {
    const std::string_view last = parts.back();
    if (last == "backward" || last == "parameters_grad")
      parsed.phase = model::Phase::backward;
    else if (last != "forward" && last != "debug" && !is_digits(last))
      break;
  }
  const std::size_t first = parts.size() > 1 ? 1 : 0;
  const std::size_t type = is_module ? parts.size() - 1 : first;
  const auto join = [&](std::size_t begin, std::size_t end) {
    std::string text;
    for (std::size_t i = begin; i < end; ++i) text.append(i == begin ? "" : ".").append(parts[i]);
    return text;
  };
  parsed.type = join(std::max(type, first), parts.size());
  if (is_module) parsed.module = join(first, type);
  return parsed;
}

Result<std::uint64_t> decode_msprobe_dump(std::string_view text, const TakeMsprobeCall& take) {
  std::uint64_t odd = 0;
  OPDUMP_CHECK_OK(parse_members(text, "data", [&](const std::string& name, const Json& call) {
    CallTensors tensors;
    odd += !tensors.add(call);
    take(name, tensors.take(), arguments_of(call));
  }));
  return odd;
}

Result<std::map<std::string, std::string>> decode_msprobe_construct(std::string_view text) {
  std::map<std::string, std::string> parents;
  OPDUMP_CHECK_OK(parse_members(text, "", [&](const std::string& name, const Json& parent) {
    // Megatron adds the number of a micro step to the parent.
    const Json& of = parent.is_array() && !parent.empty() ? parent[0] : parent;
    if (of.is_string()) parents[name] = of.get<std::string>();
  }));
  return parents;
}

Result<MsprobeStacks> decode_msprobe_stacks(std::string_view text) {
  MsprobeStacks stacks;
  OPDUMP_CHECK_OK(parse_members(text, "", [&](const std::string& key, const Json& value) {
    if (!value.is_array() || value.empty()) return;
    if (value[0].is_string()) {  // of older releases: the name of one call, and its lines
      stacks.by_name.emplace(key, stacks.stacks.size());
      stacks.stacks.push_back(parse_frames(value));
    } else if (value.size() == 2 && value[0].is_array()) {
      for (const Json& name : value[0])
        if (name.is_string()) stacks.by_name.emplace(name.get<std::string>(), stacks.stacks.size());
      stacks.stacks.push_back(parse_frames(value[1]));
    }
  }));
  return stacks;
}

}  // namespace opdump::format
