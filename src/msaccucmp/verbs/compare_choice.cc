// Operators that are chosen by number.
#include <algorithm>
#include <set>

#include "base/text/text.h"
#include "msaccucmp/log.h"
#include "msaccucmp/verbs/compare.h"

namespace opdump::msaccucmp {
namespace {

// As many digits as Python reads; no operator has a number as large as what is too large here.
std::optional<std::int64_t> to_number(std::string_view text) {
  if (!is_digits(text)) return std::nullopt;
  return parse_int64(text).value_or(INT64_MAX);
}

Outcome<SequenceChoice> parse_range(const std::string& text, Log& log) {
  const auto parts = split(text, ',');
  const std::string begin = "The range (" + text + ") is invalid, just supports \"start,end,step\"";
  if (parts.size() != 3) return log.fail(Status::invalid_parameter, begin + ".");
  RangeChoice range;
  std::int64_t* const fields[] = {&range.start, &range.end, &range.step};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string_view part = trim(parts[i]);
    if (part.empty() || (i == 1 && part == "-1")) continue;
    const auto value = to_number(part);
    if (!value) return log.fail(Status::invalid_parameter, begin + ", the value is number.");
    *fields[i] = *value;
  }
  return SequenceChoice(range);
}

Outcome<SequenceChoice> parse_select(const std::string& text, Log& log) {
  std::set<std::int64_t> chosen;
  for (const std::string_view piece : split(text, ',')) {
    const std::string_view part = trim(piece);
    if (part.empty()) continue;
    const auto value = to_number(part);
    if (!value)
      return log.fail(Status::invalid_parameter,
                      "The index (" + text +
                          ") is invalid, just supports \"index_1, index_2, ...\", the value is zero or a "
                          "positive number.");
    chosen.insert(*value);
  }
  return SequenceChoice(std::vector<std::int64_t>(chosen.begin(), chosen.end()));
}

std::string list_text(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t value : values) text.append(text.empty() ? "" : ", ").append(std::to_string(value));
  return "[" + text + "]";
}

Status out_of_range(Log& log, const std::string& what, std::int64_t value, const std::string& range) {
  return log.fail(Status::out_of_bounds, "The " + what + " index (" + std::to_string(value) +
                                             ") is out of range " + range + ". Please check the index.");
}

Status check_range(RangeChoice& range, std::int64_t last, Log& log) {
  const std::string bounds = "[1, " + std::to_string(last);
  if (range.start < 1 || range.start > last) return out_of_range(log, "start", range.start, bounds + "]");
  if (range.end == -1) range.end = last;
  if (range.end < range.start || range.end > last) return out_of_range(log, "end", range.end, bounds + "]");
  if (range.step < 1 || range.step >= last) return out_of_range(log, "step", range.step, bounds + ")");
  log.info("The range compare for [" + std::to_string(range.start) + "," + std::to_string(range.end) + "," +
           std::to_string(range.step) + "].");
  return Status::ok;
}

Status check_select(std::vector<std::int64_t>& chosen, std::int64_t last, Log& log) {
  std::vector<std::int64_t> kept, dropped;
  for (const std::int64_t value : chosen) (value <= last ? kept : dropped).push_back(value);
  if (!dropped.empty()) {
    const std::string message =
        "Index " + list_text(dropped) + " out of range [1," + std::to_string(last) + "].";
    if (kept.empty()) return log.fail(Status::invalid_parameter, message);
    log.warn(message);
  }
  chosen = kept;
  log.info("Operator list " + list_text(chosen) + " is valid.");
  return Status::ok;
}

bool is_chosen(const SequenceChoice& choice, std::int64_t sequence) {
  if (const auto* chosen = std::get_if<std::vector<std::int64_t>>(&choice))
    return std::ranges::binary_search(*chosen, sequence);
  const RangeChoice& range = std::get<RangeChoice>(choice);
  if (sequence < range.start || sequence > range.end) return false;
  return sequence == range.end || (sequence - range.start) % range.step == 0;
}

}  // namespace

Outcome<SequenceChoice> parse_choice(const ComparisonArguments& arguments, Log& log) {
  if (arguments.range && !arguments.range->empty()) return parse_range(*arguments.range, log);
  return parse_select(*arguments.select, log);
}

Status check_choice(SequenceChoice& choice, std::int64_t last, Log& log) {
  if (auto* range = std::get_if<RangeChoice>(&choice)) return check_range(*range, last, log);
  return check_select(std::get<std::vector<std::int64_t>>(choice), last, log);
}

std::vector<std::uint32_t> chosen_groups(const SequenceChoice& choice, const FusionRules& rules) {
  std::vector<std::uint32_t> groups;
  std::vector<bool> seen(rules.group_count());
  for (std::uint32_t i = 0; i < rules.op_count(); ++i) {
    const std::uint32_t op = rules.in_sequence(i);
    const std::int64_t sequence = rules.sequence_of(op);
    // Rules that were merged (-cf) are in no order; the original ends here all the same.
    if (const auto* range = std::get_if<RangeChoice>(&choice); range && sequence > range->end) break;
    if (!is_chosen(choice, sequence)) continue;
    const auto group = rules.find_group(rules.name_of(op));
    if (!group || seen[*group]) continue;
    seen[*group] = true;
    groups.push_back(*group);
  }
  return groups;
}

}  // namespace opdump::msaccucmp
