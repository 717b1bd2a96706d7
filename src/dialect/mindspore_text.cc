#include "dialect/mindspore_text.h"

#include <algorithm>
#include <climits>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text/json.h"
#include "base/text/text.h"

namespace opdump::dialect {
namespace {

Error reason(std::string text) { return {Code::config, std::move(text)}; }

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

struct StepRange {
  std::uint64_t first, last;
};

constexpr std::string_view kIterationForm =
    "iteration only supports digits, {'-', '|'}, or just \"all\": steps and ranges such as \"0|5-8|100-120\"";

bool is_step(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Result<std::uint64_t> parse_step(std::string_view text) {
  if (const auto step = parse_uint64(text)) return *step;
  return reason(quote(text) + " is too large for a step number");
}

// N or A-B; blanks are the caller's business.
Result<StepRange> parse_segment(std::string_view segment) {
  if (segment.empty()) return reason("there is nothing before, between or after its bars");
  const std::size_t dash = segment.find('-');
  const std::string_view first_text = trim(segment.substr(0, dash));
  const std::string_view last_text =
      dash == std::string_view::npos ? first_text : trim(segment.substr(dash + 1));
  if (!is_step(first_text) || !is_step(last_text))
    return reason(quote(segment) + " is neither a step nor a range such as \"5-8\"");
  OPDUMP_TRY(const std::uint64_t first, parse_step(first_text));
  OPDUMP_TRY(const std::uint64_t last, parse_step(last_text));
  if (last < first)
    return reason("the range " + quote(segment) + " runs backwards; write " +
                  quote(std::to_string(last) + "-" + std::to_string(first)));
  return StepRange{first, last};
}

std::optional<std::string> lookup(std::string_view name, const DialectOptions& options) {
  return options.environment ? options.environment(name) : std::nullopt;
}

// `text` begins with '$'. Appends the variable's value to `out` and returns how many characters were read.
// "$$" is one '$'; a '$' before anything else stands for itself.
Result<std::size_t> expand_variable(std::string_view text, const DialectOptions& options, std::string& out) {
  if (text.starts_with("$$")) {
    out += '$';
    return std::size_t{2};
  }
  const bool braced = text.starts_with("${");
  const std::size_t begin = braced ? 2 : 1;
  std::size_t end = begin;
  while (end < text.size() && is_word(text[end]) && text[end] != '-') ++end;
  if (braced && (end == begin || end == text.size() || text[end] != '}'))
    return reason("\"${\" needs a variable's name and \"}\"");
  if (end == begin) {
    out += '$';
    return std::size_t{1};
  }
  const std::string_view name = text.substr(begin, end - begin);
  const auto value = lookup(name, options);
  if (!value || value->empty())
    return reason("the environment variable " + std::string(name) + " is not set");
  out += *value;
  return braced ? end + 1 : end;
}

Result<std::string> expand(std::string_view text, const DialectOptions& options) {
  std::string out;
  if (text.starts_with('~')) {
    if (text.size() > 1 && text[1] != '/')
      return reason("only \"~/\", your own home directory, is understood");
    OPDUMP_TRY(const std::size_t unused, expand_variable("$HOME", options, out));
    static_cast<void>(unused);
    text.remove_prefix(1);
  }
  while (!text.empty()) {
    std::size_t used = 1;
    if (text.front() == '$') {
      OPDUMP_TRY(used, expand_variable(text, options, out));
    } else {
      out += text.front();
    }
    text.remove_prefix(used);
  }
  return out;
}

// "/a//b/" and "/a/./b" become "/a/b". ".." stays: what it means depends on symbolic links.
std::filesystem::path tidy(const std::filesystem::path& path) {
  std::filesystem::path result;
  for (const auto& part : path)
    if (!part.empty() && part != ".") result /= part;
  return result;
}

Result<> check_strict_path(std::string_view text) {
  if (!std::ranges::all_of(text, [](char c) { return is_word(c) || c == '/'; }))
    return reason("path only supports alphabets, digits or {'-', '_', '/'}");
  if (!text.starts_with('/')) return reason("path only supports absolute paths and should start with '/'");
  return ok();
}

// Nesting beyond this is not somebody's list of operators, and dump() would recurse as deep.
constexpr int kMaxNesting = 16;

bool is_nested_deeper(const nlohmann::json& value, int limit) {
  if (!value.is_structured()) return false;
  return limit == 0 || std::any_of(value.begin(), value.end(), [limit](const nlohmann::json& item) {
           return is_nested_deeper(item, limit - 1);
         });
}

Result<std::string> kernel_text(const nlohmann::json& element, bool strict) {
  if (!strict && !element.is_string())
    return reason("should be string type: an operator's name, a type, or name-regex(...)");
  if (is_nested_deeper(element, kMaxNesting)) return reason("nested too deep; should be string type");
  std::string text = strict ? json_text(element) : element.get<std::string>();
  std::erase_if(text, [](char c) { return c == '"' || c == ' '; });
  return text;
}

}  // namespace

Result<plan::StepSet> parse_iteration(std::string_view text, bool strict,
                                      std::vector<std::string>& never_matching) {
  if (!strict) text = trim(text);
  if (text == "all") return plan::StepSet::all();
  const std::string_view allowed = strict ? "0123456789-|" : "0123456789-| \t";
  if (text.empty() || text.find_first_not_of(allowed) != std::string_view::npos)
    return reason(std::string(kIterationForm));
  std::vector<StepRange> ranges;
  for (const std::string_view segment : split(text, '|')) {
    const auto range = parse_segment(trim(segment));
    if (range)
      ranges.push_back(*range);
    else if (!strict)
      return range.error();
    else if (never_matching.size() < 8)  // enough for a message
      never_matching.emplace_back(segment.substr(0, 40));
  }
  // Sorted, because a set that grows at its end grows in constant time.
  std::ranges::sort(ranges, {}, &StepRange::first);
  plan::StepSet steps = plan::StepSet::none();
  for (const auto& [first, last] : ranges) steps.add(first, last);
  return steps;
}

Result<std::filesystem::path> parse_path(std::string_view text, const DialectOptions& options) {
  std::filesystem::path path;
  if (options.strict) {
    OPDUMP_CHECK_OK(check_strict_path(text));
    path = text;
  } else {
    OPDUMP_TRY(const std::string expanded, expand(text, options));
    if (std::ranges::any_of(expanded, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }))
      return reason("path must not have control characters");
    std::error_code failure;
    path = std::filesystem::absolute(expanded, failure);
    if (failure) return reason("there is no current directory to start at: " + failure.message());
  }
  path = tidy(path);
  if (path.native().size() >= PATH_MAX)
    return reason("path is longer than " + std::to_string(PATH_MAX - 1) + " bytes");
  return path;
}

Result<> check_net_name(std::string_view text) {
  if (text.empty() || !std::ranges::all_of(text, is_word))
    return reason("net_name only supports alphabetic, digit, or {'-', '_'}, and at least one of them");
  return ok();
}

Result<std::optional<KernelRule>> parse_kernel(const nlohmann::json& element, bool strict, bool search) {
  constexpr std::string_view kRegexBegin = "name-regex(";
  OPDUMP_TRY(std::string text, kernel_text(element, strict));
  if (text.empty()) return std::optional<KernelRule>();
  if (text.starts_with(kRegexBegin)) {
    const bool closed = text.ends_with(')');
    if (!strict && !closed) return reason("name-regex( should end with \")\"");
    if (!strict && text.size() == kRegexBegin.size() + 1) return reason("there is nothing in its brackets");
    const plan::RuleKind kind = search ? plan::RuleKind::regex_search : plan::RuleKind::regex;
    if (closed)
      return std::optional(
          KernelRule{kind, text.substr(kRegexBegin.size(), text.size() - kRegexBegin.size() - 1)});
  }
  const bool is_name = text.find('/') != std::string::npos || text.find("-op") != std::string::npos;
  return std::optional(KernelRule{is_name ? plan::RuleKind::name : plan::RuleKind::type, std::move(text)});
}

}  // namespace opdump::dialect
