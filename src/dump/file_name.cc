#include "dump/file_name.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "base/text/text.h"

namespace opdump::dump {
namespace {

constexpr std::string_view kExtension = ".npy";

std::string row_safe(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '/' || c == ',' || c == '"') c = '_';
  }
  return text.empty() ? "_" : text;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::optional<model::Side> find_side(std::string_view text) {
  if (text == model::kSideNames[0]) return model::Side::input;
  if (text == model::kSideNames[1]) return model::Side::output;
  return std::nullopt;
}

// Cuts the last field and its separator off `text`; the field is empty if there is no separator left.
std::string_view take_last(std::string_view& text, char separator = '.') {
  const std::size_t dot = text.rfind(separator);
  if (dot == std::string_view::npos) return {};
  const std::string_view field = text.substr(dot + 1);
  text = text.substr(0, dot);
  return field;
}

// The first field, cut off with its separator; all of `text` if there is no separator.
std::string_view take_first(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view field = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return field;
}

// "Conv2D" of "Default--conv3-Conv2d--Conv2D-op308"; what has no number of its own is no operator.
std::string legacy_type(std::string_view name) {
  if (const std::size_t slash = name.rfind("--"); slash != std::string_view::npos)
    name.remove_prefix(slash + 2);
  const std::size_t number = name.rfind("-op");
  const bool has_type = number != std::string_view::npos && number > 0;
  return std::string(has_type ? name.substr(0, number) : "Parameter");
}

// sanitise_name() of the name that was written with "--" for '/'.
std::string legacy_name(std::string_view name) {
  std::string slashes;
  while (!name.empty()) {
    const bool is_slash = name.starts_with("--");
    slashes += is_slash ? '/' : name[0];
    name.remove_prefix(is_slash ? 2 : 1);
  }
  return model::sanitise_name(slashes);
}

}  // namespace

std::string file_type(const model::Operator& op) { return row_safe(op.type); }

std::string file_op_name(const model::Operator& op) { return row_safe(model::sanitise_name(op.name)); }

std::string plain_name(std::string_view text) {
  std::string name(text);
  for (char& c : name)
    if (!is_plain(c)) c = '_';
  return name.empty() ? "_" : name;
}

std::string format_file_name(const FileName& name) {
  std::string text;
  text.reserve(name.type.size() + name.name.size() + 96);
  text.append(name.type).append(".").append(name.name);
  text.append(".").append(std::to_string(name.task)).append(".").append(std::to_string(name.stream));
  text.append(".").append(std::to_string(name.timestamp_us));
  text.append(".").append(model::kSideNames[static_cast<int>(name.side)]);
  text.append(".").append(std::to_string(name.index)).append(".").append(name.format);
  if (!name.dtype.empty()) text.append(".").append(name.dtype);
  return text.append(kExtension);
}

std::optional<FileName> parse_file_name(std::string_view text) {
  if (!text.ends_with(kExtension)) return std::nullopt;
  text.remove_suffix(kExtension.size());

  FileName result;
  std::string_view last = take_last(text), before = take_last(text), side_text = take_last(text);
  if (!find_side(side_text)) {  // the last field is the dtype
    result.dtype = last;
    last = before;
    before = side_text;
    side_text = take_last(text);
  }
  const auto side = find_side(side_text);
  const auto index = parse_uint64(before);
  const auto timestamp = parse_uint64(take_last(text));
  const auto stream = parse_int64(take_last(text));
  const auto task = parse_uint64(take_last(text));
  result.name = take_last(text);
  result.type = text;
  if (!side || !index || *index > std::numeric_limits<std::uint32_t>::max() || !timestamp || !stream ||
      !task || result.name.empty() || result.type.empty())
    return std::nullopt;
  result.side = *side;
  result.index = static_cast<std::uint32_t>(*index);
  result.timestamp_us = *timestamp;
  result.stream = *stream;
  result.task = *task;
  result.format = last;
  return result;
}

std::string format_call_name(const CallName& name) {
  return name.type + "." + name.name + "." + std::to_string(name.task) + "." + std::to_string(name.stream) +
         "." + std::to_string(name.timestamp_us);
}

std::optional<CallName> parse_call_name(std::string_view text) {
  constexpr std::size_t kMostNumbers = 7;
  const std::vector<std::string_view> fields = split(text, '.');
  if (fields.size() < 4 || fields.size() > 2 + kMostNumbers || fields[0].empty() || fields[1].empty())
    return std::nullopt;
  std::vector<std::uint64_t> numbers;
  for (const std::string_view field : std::span(fields).subspan(2)) {
    const auto number = parse_uint64(field);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  CallName name{std::string(fields[0]), std::string(fields[1]), numbers[0], 0, numbers[1]};
  if (numbers.size() > 2) {
    if (numbers[1] > INT64_MAX) return std::nullopt;
    name.stream = static_cast<std::int64_t>(numbers[1]);
    name.timestamp_us = numbers[2];
  }
  return name;
}

std::optional<LegacyName> parse_legacy_name(std::string_view text) {
  constexpr std::string_view kEnd = ".bin", kShape = "_shape_", kDTypePrefix = "kNumberType";
  if (!text.ends_with(kEnd)) return std::nullopt;
  text.remove_suffix(kEnd.size());
  const std::size_t at = text.rfind(kShape);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view name = text.substr(0, at), rest = text.substr(at + kShape.size());

  const auto index = parse_uint64(take_last(name, '_'));
  const auto side = find_side(take_last(name, '_'));
  if (!index || *index > UINT32_MAX || !side || name.empty()) return std::nullopt;
  LegacyName result;
  result.side = *side;
  result.index = static_cast<std::uint32_t>(*index);
  result.type = legacy_type(name);
  result.name = legacy_name(name);

  std::vector<std::int64_t> dims;
  std::string_view field;
  while (field.empty()) {  // a scalar has no dimensions, or an empty one
    if (rest.empty()) return std::nullopt;
    field = take_first(rest, '_');
    if (const auto dim = parse_int64(field)) {
      dims.push_back(*dim);
      field = {};
    }
  }
  result.shape = model::Shape(dims);
  if (field.starts_with(kDTypePrefix)) field.remove_prefix(kDTypePrefix.size());
  result.dtype = model::find_dtype(field).value_or(model::DType::undefined);
  result.format = rest;
  return result;
}

}  // namespace opdump::dump
