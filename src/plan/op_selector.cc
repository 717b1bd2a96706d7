#include "plan/op_selector.h"

#include <re2/re2.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/text.h"

namespace opdump::plan {
namespace {

// Enough for any pattern a person writes; a pattern that needs more is refused when it is compiled.
constexpr std::int64_t kRegexMemoryBytes = 4 << 20;

// RE2 names the part of the pattern it stumbled over; people want to know where that is.
Error regex_error(const std::string& text, const RE2& regex) {
  std::string message = "\"" + text + "\" is not a regular expression: " + regex.error();
  const std::string& part = regex.error_arg();
  const std::size_t at = part.empty() || part == text ? std::string::npos : text.find(part);
  if (at != std::string::npos) message += " at character " + std::to_string(at + 1);
  const bool look_around = regex.error_code() == RE2::ErrorBadPerlOp || part.starts_with("(?");
  const bool back_reference = part.size() == 2 && part[0] == '\\' && part[1] >= '1' && part[1] <= '9';
  if (look_around || back_reference) message += "; look-around and back-references are not supported";
  return {Code::config, std::move(message)};
}

}  // namespace

struct OpSelector::State {
  struct Regex {
    std::unique_ptr<RE2> pattern;
    bool whole;
    std::size_t rule;

    bool matches(std::string_view name) const {
      const re2::StringPiece text(name.data(), name.size());
      return whole ? RE2::FullMatch(text, *pattern) : RE2::PartialMatch(text, *pattern);
    }
  };
  struct Type {
    std::string lower_text;
    std::size_t rule;
  };
  std::vector<Rule> rules;
  std::vector<Regex> regexes;
  std::unordered_map<std::string, std::size_t> names;
  std::vector<Type> types;

  bool hit(std::size_t rule) {
    ++rules[rule].matches;
    return true;
  }
};

OpSelector::OpSelector() : state_(std::make_unique<State>()) {}
OpSelector::OpSelector(OpSelector&&) noexcept = default;
OpSelector& OpSelector::operator=(OpSelector&&) noexcept = default;
OpSelector::~OpSelector() = default;

Result<> OpSelector::add(RuleKind kind, std::string text) {
  const std::size_t rule = state_->rules.size();
  switch (kind) {
    case RuleKind::regex:
    case RuleKind::regex_search: {
      if (state_->regexes.size() == kMaxRegexes)
        return Error(Code::config, "more than " + std::to_string(kMaxRegexes) + " regular expressions");
      RE2::Options options(RE2::Quiet);
      options.set_max_mem(kRegexMemoryBytes);
      auto pattern = std::make_unique<RE2>(text, options);
      if (!pattern->ok()) return regex_error(text, *pattern);
      state_->regexes.push_back({std::move(pattern), kind == RuleKind::regex, rule});
      break;
    }
    case RuleKind::name:
      state_->names.try_emplace(text, rule);
      break;
    case RuleKind::type:
      state_->types.push_back({to_lower(text), rule});
      break;
  }
  state_->rules.push_back({kind, std::move(text), 0});
  return ok();
}

bool OpSelector::wants(std::string_view name) {
  if (selects_all()) return true;
  for (const State::Regex& regex : state_->regexes)
    if (regex.matches(name)) return state_->hit(regex.rule);
  if (const auto found = state_->names.find(std::string(name)); found != state_->names.end())
    return state_->hit(found->second);
  if (state_->types.empty()) return false;
  const std::string base = to_lower(base_name(name));
  for (const auto& [lower_text, rule] : state_->types)
    if (base.find(lower_text) != std::string::npos) return state_->hit(rule);
  return false;
}

bool OpSelector::matches_regex(std::string_view name) const {
  return std::ranges::any_of(state_->regexes, [&](const State::Regex& regex) { return regex.matches(name); });
}

bool OpSelector::selects_all() const { return state_->rules.empty(); }

std::vector<OpSelector::Rule> OpSelector::rules() const { return state_->rules; }

std::string_view base_name(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dash = name.rfind('-');
  const std::size_t end = dash == std::string_view::npos || dash < begin ? name.size() : dash;
  return name.substr(begin, end - begin);
}

std::vector<std::string> describe_unmatched(const OpSelector& selector,
                                            std::span<const std::string_view> names) {
  constexpr std::size_t kHints = 3;
  std::set<std::string_view> types;
  for (const std::string_view name : names) types.insert(base_name(name));
  const std::vector<std::string_view> type_list(types.begin(), types.end());
  std::vector<std::string> sentences;
  for (const OpSelector::Rule& rule : selector.rules()) {
    if (rule.matches > 0) continue;
    std::vector<std::string_view> similar;
    if (rule.kind == RuleKind::type) similar = find_similar(rule.text, type_list, kHints);
    if (rule.kind == RuleKind::name) similar = find_similar(rule.text, names, kHints);
    sentences.push_back("no operator matched '" + rule.text + "' of the kernels list" +
                        (similar.empty() ? "" : "; nearest: " + join_or(similar)));
  }
  return sentences;
}

}  // namespace opdump::plan
