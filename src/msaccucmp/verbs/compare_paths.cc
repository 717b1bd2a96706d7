// The original's checks of paths, and of operators chosen by number.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <set>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "msaccucmp/verbs/compare.h"

namespace opdump::msaccucmp {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxPath = 4096, kMaxName = 255;
constexpr unsigned kOwnerOnly = 0700;

Status say(Journal& journal, Status status, std::string message) {
  journal.error(std::move(message));
  return status;
}

bool has_plain_characters(std::string_view path) {
  return std::ranges::all_of(path, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_\\./:()=-").find(c) != std::string_view::npos;
  });
}

Status check_words(const std::string& path, Journal& journal) {
  if (path.empty()) return say(journal, Status::invalid_parameter, "The path is null.");
  if (!has_plain_characters(path))
    return say(journal, Status::invalid_parameter,
               "The name '" + path + "' is invalid. It only supports '\"A-Za-z0-9_\\./:()=-\"'.");
  if (path.size() >= kMaxPath)
    return say(journal, Status::invalid_path,
               "The path length exceeds the maximum limit, the maximum limit is 4096.");
  for (const std::string_view name : split(path, '/'))
    if (name.size() >= kMaxName)
      return say(journal, Status::invalid_path,
                 "The file name length exceeds the maximum limit, the maximum limit is 255.");
  return Status::ok;
}

std::string quoted(const std::string& path) { return "\"'" + path + "'\""; }

}  // namespace

std::string real_text(const std::string& path) { return real_path(path.empty() ? "." : path).string(); }

Status check_input_path(const std::string& path, PathKind kind, Journal& journal) {
  const std::string real = real_text(path);
  if (const Status status = check_words(path, journal); status != Status::ok) return status;
  std::error_code error;
  if (is_link(path))
    return say(journal, Status::invalid_path, "The path " + quoted(path) + " is a softlink, not permitted.");
  if (!fs::exists(real, error))
    return say(journal, Status::invalid_path, "The path " + quoted(real) + " does not exist.");
  if (::access(real.c_str(), R_OK) != 0)
    return say(journal, Status::invalid_path,
               "You do not have permission to read the path " + quoted(real) + ".");
  if (kind == PathKind::file && !fs::is_regular_file(real, error))
    return say(journal, Status::invalid_path,
               "The path " + quoted(path) + " is not a file. Please check the path.");
  if (kind == PathKind::directory && !fs::is_directory(real, error))
    return say(journal, Status::invalid_path,
               "The path " + quoted(path) + " is not a directory. Please check the path.");
  return Status::ok;
}

Status check_output_directory(const std::string& path, Journal& journal) {
  if (const auto made = make_directories(path, kOwnerOnly); !made)
    return say(journal, Status::invalid_path,
               "Failed to create " + quoted(path) + ". " + made.error().message());
  if (const Status status = check_input_path(path, PathKind::directory, journal); status != Status::ok)
    return status;
  if (::access(path.c_str(), W_OK) != 0)
    return say(journal, Status::invalid_path,
               "You do not have permission to write the path " + quoted(path) + ".");
  return Status::ok;
}

std::string time_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%d%H%M%S", &local);
  return text.data();
}

namespace {

// As many digits as Python reads; no operator has a number as large as what is too large here.
std::optional<std::int64_t> to_number(std::string_view text) {
  if (!is_digits(text)) return std::nullopt;
  return parse_int64(text).value_or(INT64_MAX);
}

Outcome<SequenceChoice> parse_range(const std::string& text, Journal& journal) {
  const auto parts = split(text, ',');
  const std::string begin = "The range (" + text + ") is invalid, just supports \"start,end,step\"";
  if (parts.size() != 3) return journal.fail(Status::invalid_parameter, begin + ".");
  RangeChoice range;
  std::int64_t* const fields[] = {&range.start, &range.end, &range.step};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string_view part = trim(parts[i]);
    if (part.empty() || (i == 1 && part == "-1")) continue;
    const auto value = to_number(part);
    if (!value) return journal.fail(Status::invalid_parameter, begin + ", the value is number.");
    *fields[i] = *value;
  }
  return SequenceChoice(range);
}

Outcome<SequenceChoice> parse_select(const std::string& text, Journal& journal) {
  std::set<std::int64_t> chosen;
  for (const std::string_view piece : split(text, ',')) {
    const std::string_view part = trim(piece);
    if (part.empty()) continue;
    const auto value = to_number(part);
    if (!value)
      return journal.fail(Status::invalid_parameter,
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

Status out_of_range(Journal& journal, const std::string& what, std::int64_t value, const std::string& range) {
  return say(journal, Status::out_of_bounds,
             "The " + what + " index (" + std::to_string(value) + ") is out of range " + range +
                 ". Please check the index.");
}

Status check_range(RangeChoice& range, std::int64_t last, Journal& journal) {
  const std::string bounds = "[1, " + std::to_string(last);
  if (range.start < 1 || range.start > last) return out_of_range(journal, "start", range.start, bounds + "]");
  if (range.end == -1) range.end = last;
  if (range.end < range.start || range.end > last)
    return out_of_range(journal, "end", range.end, bounds + "]");
  if (range.step < 1 || range.step >= last) return out_of_range(journal, "step", range.step, bounds + ")");
  journal.info("The range compare for [" + std::to_string(range.start) + "," + std::to_string(range.end) +
               "," + std::to_string(range.step) + "].");
  return Status::ok;
}

Status check_select(std::vector<std::int64_t>& chosen, std::int64_t last, Journal& journal) {
  std::vector<std::int64_t> kept, dropped;
  for (const std::int64_t value : chosen) (value <= last ? kept : dropped).push_back(value);
  if (!dropped.empty()) {
    const std::string message =
        "Index " + list_text(dropped) + " out of range [1," + std::to_string(last) + "].";
    if (kept.empty()) return say(journal, Status::invalid_parameter, message);
    journal.warn(message);
  }
  chosen = kept;
  journal.info("Operator list " + list_text(chosen) + " is valid.");
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

Outcome<SequenceChoice> parse_choice(const CompareArguments& arguments, Journal& journal) {
  if (arguments.range && !arguments.range->empty()) return parse_range(*arguments.range, journal);
  return parse_select(*arguments.select, journal);
}

Status check_choice(SequenceChoice& choice, std::int64_t last, Journal& journal) {
  if (auto* range = std::get_if<RangeChoice>(&choice)) return check_range(*range, last, journal);
  return check_select(std::get<std::vector<std::int64_t>>(choice), last, journal);
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
