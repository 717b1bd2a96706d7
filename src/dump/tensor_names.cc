#include "dump/tensor_names.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "dump/file_name.h"
#include "math/hash.h"
#include "model/tensor_view.h"

namespace opdump::dump {
namespace {

std::optional<std::uint32_t> parse_index(std::string_view text) {
  const auto number = parse_uint64(text);
  if (!number || *number > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

std::optional<model::Side> parse_side(std::string_view text) {
  if (text == model::kSideNames[0]) return model::Side::input;
  if (text == model::kSideNames[1]) return model::Side::output;
  return std::nullopt;
}

// "1x20x4x4": what takes the place of a format once the tensor has been laid out anew.
bool is_shape(std::string_view text) {
  return text.find_first_not_of("0123456789x") == std::string_view::npos;
}

std::optional<TensorName> parse_converted(std::string_view stem) {
  const std::vector<std::string_view> fields = split(stem, '.');
  const bool has_format = fields.size() > 2 && !parse_side(fields[fields.size() - 2]);
  if (fields.size() < (has_format ? 7u : 6u)) return std::nullopt;
  const std::string_view format = has_format ? fields.back() : std::string_view();
  const std::string_view index_text = fields[fields.size() - (has_format ? 2 : 1)];
  const std::string_view side_text = fields[fields.size() - (has_format ? 3 : 2)];
  const auto side = parse_side(side_text);
  const auto index = parse_index(index_text);
  if (!side || !index) return std::nullopt;
  auto call = parse_call_name(stem.substr(0, static_cast<std::size_t>(side_text.data() - stem.data()) - 1));
  if (!call) return std::nullopt;
  TensorName name{std::move(call->type),
                  std::move(call->name),
                  call->task,
                  call->stream,
                  call->timestamp_us,
                  *side,
                  *index,
                  {},
                  {}};
  if (!is_shape(format)) name.format = format;
  return name;
}

// Microseconds since the epoch of "YYYYmmddHHMMSSffffff", in UTC; 0 if it is no date.
std::uint64_t parse_time(std::string_view text) {
  using namespace std::chrono;
  const auto number = [&](std::size_t at, std::size_t length) {
    return static_cast<int>(parse_uint64(text.substr(at, length)).value_or(0));
  };
  const year_month_day day(year(number(0, 4)), month(static_cast<unsigned>(number(4, 2))),
                           std::chrono::day(static_cast<unsigned>(number(6, 2))));
  if (!day.ok()) return 0;
  const auto time = sys_days(day).time_since_epoch() + hours(number(8, 2)) + minutes(number(10, 2)) +
                    seconds(number(12, 2)) + microseconds(number(14, 6));
  const auto count = duration_cast<microseconds>(time).count();
  return count > 0 ? static_cast<std::uint64_t>(count) : 0;
}

std::optional<TensorName> parse_eager(std::string_view stem) {
  constexpr std::size_t kTimeDigits = 20;
  const std::vector<std::string_view> fields = split(stem, '.');
  if (fields.size() < 4 || fields.back().size() != kTimeDigits ||
      fields.back().find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  std::size_t at = fields.size() - 2;  // of the index, or of the part
  while (at > 0 && fields[at] != "INPUT" && fields[at] != "OUTPUT") --at;
  const std::size_t numbers = fields.size() - 2 - at;
  if (at == 0 || numbers < 1 || numbers > 2) return std::nullopt;
  const auto index = parse_index(fields[at + 1]);
  const auto part = numbers == 2 ? parse_index(fields[at + 2]) : std::nullopt;
  const std::string_view before =
      stem.substr(0, static_cast<std::size_t>(fields[at].data() - stem.data()) - 1);
  const std::size_t dash = before.find('-');
  if (!index || (numbers == 2 && !part) || dash == std::string_view::npos || dash == 0) return std::nullopt;
  TensorName name;
  name.type = before.substr(dash + 1);
  name.name = before.substr(0, dash);
  name.timestamp_us = parse_time(fields.back());
  name.side = fields[at] == "INPUT" ? model::Side::input : model::Side::output;
  name.index = *index;
  name.part = part;
  return name;
}

std::optional<TensorName> parse_golden(std::string_view stem) {
  constexpr std::size_t kFewestDigits = 10;  // fewer are no time
  const std::size_t time_dot = stem.rfind('.');
  if (time_dot == std::string_view::npos || time_dot == 0) return std::nullopt;
  const std::size_t index_dot = stem.rfind('.', time_dot - 1);
  if (index_dot == std::string_view::npos || index_dot == 0) return std::nullopt;
  const std::string_view time_text = stem.substr(time_dot + 1);
  const auto time = parse_uint64(time_text);
  const auto index = parse_index(stem.substr(index_dot + 1, time_dot - index_dot - 1));
  if (!time || !index || time_text.size() < kFewestDigits) return std::nullopt;
  TensorName name;
  name.name = stem.substr(0, index_dot);
  name.timestamp_us = *time;
  name.index = *index;
  return name;
}

constexpr std::string_view kRun = ".run";
constexpr std::size_t kLongestName = 180;  // in bytes; file names may have 255, with ends
constexpr std::size_t kDigestDigits = 16;

std::optional<TensorName> parse_own(std::string_view stem) {
  const std::vector<std::string_view> fields = split(stem, '.');
  if (fields.size() < 3) return std::nullopt;
  const auto side = parse_side(fields[fields.size() - 2]);
  const auto index = parse_index(fields.back());
  if (!side || !index) return std::nullopt;
  std::string_view op =
      stem.substr(0, stem.size() - fields.back().size() - fields[fields.size() - 2].size() - 2);
  TensorName name;
  name.side = *side;
  name.index = *index;
  const std::size_t run = op.rfind(kRun);
  const auto execution =
      run == std::string_view::npos ? std::nullopt : parse_index(op.substr(run + kRun.size()));
  if (execution) op = op.substr(0, run);
  name.execution = execution.value_or(0);
  name.name = op;
  return op.empty() ? std::nullopt : std::optional(name);
}

}  // namespace

std::string converted_name(std::string_view operator_name) {
  std::string name(operator_name);
  if (name.size() > kLongestName) {
    const model::Shape shape{static_cast<std::int64_t>(name.size())};
    const std::string digest =
        math::md5_hex(model::TensorView::row_major(model::DType::uint8, shape, name.data()));
    std::size_t end = kLongestName - 1 - kDigestDigits;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;  // no half characters
    name = name.substr(0, end) + "_" + digest.substr(0, kDigestDigits);
  }
  for (char& c : name)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f' ||
        std::string_view("/\\:*?\"<>|").find(c) != std::string_view::npos)
      c = '_';
  if (name.empty() || name.front() == '.') name.insert(0, 1, '_');
  return name;
}

std::string execution_name(std::string_view operator_name, std::uint32_t execution) {
  std::string name(operator_name);
  return execution == 0 ? name : name + std::string(kRun) + std::to_string(execution);
}

std::optional<TensorName> parse_tensor_name(std::string_view stem) {
  if (auto name = parse_converted(stem)) return name;
  if (auto name = parse_eager(stem)) return name;
  if (auto name = parse_golden(stem)) return name;
  return parse_own(stem);
}

std::optional<TaggedName> parse_tagged_name(std::string_view stem) {
  constexpr std::string_view kBetween = "___";
  std::vector<std::pair<std::string_view, std::string>> tags;
  while (!stem.empty()) {
    const std::size_t end = std::min(stem.find(kBetween), stem.size());
    const std::string_view tag = stem.substr(0, end);
    stem.remove_prefix(std::min(end + kBetween.size(), stem.size()));
    const std::size_t equals = tag.find('=');
    if (equals != tag.npos && equals > 0)
      tags.emplace_back(tag.substr(0, equals), tag.substr(equals + 1));
    else if (!tags.empty())
      tags.back().second.append(kBetween).append(tag);  // of a value
    else
      return std::nullopt;
  }
  TaggedName named;
  std::string others;
  bool has_step = false;
  for (const auto& [key, value] : tags) {
    if (key == "name") {
      named.name = value;
    } else if (key == "step" || key == "forward_pass_id") {
      named.step = parse_int64(value).value_or(0);
      has_step = true;
    } else if (key == "rank") {
      named.rank = parse_index(value).value_or(0);
    } else if (key == "dump_index") {
      named.index = parse_uint64(value).value_or(0);
    } else if (value != "disabled" && !key.ends_with("_rank")) {  // recompute_status; tp_rank and its like
      others.append(key).append("=").append(value).append("/");
    }
  }
  if (!has_step || named.name.empty()) return std::nullopt;
  named.name.insert(0, others);
  return named;
}

bool is_tagged_run(std::string_view name) {
  constexpr std::string_view kOlder = "sglang_", kRun = "dump_", kDigits = "0123456789_.";
  if (name.starts_with(kOlder)) name.remove_prefix(kOlder.size());
  return name.starts_with(kRun) && name.size() > kRun.size() &&
         name.find_first_not_of(kDigits, kRun.size()) == name.npos;
}

std::optional<std::uint32_t> find_global_rank(std::string_view name) {
  constexpr std::string_view kSize = "worldsize", kRank = "_global_rank";
  const std::size_t at = name.find(kRank);
  if (!name.starts_with(kSize) || at == std::string_view::npos ||
      !parse_uint64(name.substr(kSize.size(), at - kSize.size())))
    return std::nullopt;
  return parse_index(name.substr(at + kRank.size()));
}

std::optional<TestDataName> parse_test_data_name(std::string_view name) {
  constexpr std::string_view kExtension = ".pb";
  if (!name.ends_with(kExtension)) return std::nullopt;
  name.remove_suffix(kExtension.size());
  const std::size_t dash = name.rfind('_');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto side = parse_side(name.substr(0, dash));
  const auto index = parse_index(name.substr(dash + 1));
  if (!side || !index) return std::nullopt;
  return TestDataName{*side, *index};
}

}  // namespace opdump::dump
