#include "dump/file_name.h"

#include <limits>

#include "base/text.h"

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

std::optional<model::Side> find_side(std::string_view text) {
  if (text == model::kSideNames[0]) return model::Side::input;
  if (text == model::kSideNames[1]) return model::Side::output;
  return std::nullopt;
}

// Cuts the last field and its dot off `text`; the field is empty if there is no dot left.
std::string_view take_last(std::string_view& text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view field = text.substr(dot + 1);
  text = text.substr(0, dot);
  return field;
}

}  // namespace

std::string file_type(const model::Operator& op) { return row_safe(op.type); }

std::string file_op_name(const model::Operator& op) { return row_safe(model::sanitise_name(op.name)); }

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

}  // namespace opdump::dump
