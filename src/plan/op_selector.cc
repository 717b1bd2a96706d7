#include "plan/op_selector.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/text/text.h"
#include "model/operator.h"
#include "plan/nearest.h"
#include "plan/type_names.h"

namespace opdump::plan {
namespace {

// Enough for any pattern a person writes; a pattern that needs more is refused when it is compiled.
constexpr std::int64_t kRegexMemoryBytes = 4 << 20;

// How the expression of a filter for modules is applied to the path of a module.
constexpr std::string_view kPartsBegin = "(?:^|\\.)(?:", kPartsEnd = ")(?:\\.|$)";

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

Result<std::unique_ptr<RE2>> compile(const std::string& text, bool case_sensitive) {
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(kRegexMemoryBytes);
  options.set_case_sensitive(case_sensitive);
  auto pattern = std::make_unique<RE2>(text, options);
  if (!pattern->ok()) return regex_error(text, *pattern);
  return pattern;
}

bool finds(std::string_view text, const RE2& pattern) {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

bool fills(std::string_view text, const RE2& pattern) {
  return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

}  // namespace

struct OpSelector::State {
  struct Regex {
    std::unique_ptr<RE2> pattern;
    bool whole;
    std::size_t rule;

    bool matches(std::string_view name) const {
      return whole ? fills(name, *pattern) : finds(name, *pattern);
    }
  };
  struct Type {
    std::string lower_text;
    std::size_t rule;
  };
  struct Narrowing {
    Filter filter;
    std::unique_ptr<RE2> pattern;

    bool matches(std::string_view name) const {
      if (filter.kind == FilterKind::module) return finds(module_path(name), *pattern);
      return finds(base_name(name), *pattern) || fills(name, *pattern);
    }
  };
  std::vector<Narrowing> filters;
  std::vector<SelectorRule> rules;
  std::vector<Regex> regexes;
  std::unordered_map<std::string, std::size_t> names;
  std::vector<Type> types;

  // Counts for each filter, though another one excludes the operator.
  bool passes_filters(std::string_view name) {
    bool passes = true;
    for (Narrowing& narrowing : filters) {
      const bool matches = narrowing.matches(name);
      narrowing.filter.matches += matches;
      passes = passes && matches;
    }
    return passes;
  }

  // The rule that selects the operator, if one does.
  std::optional<std::size_t> find_rule(std::string_view name) const {
    for (const Regex& regex : regexes)
      if (regex.matches(name)) return regex.rule;
    if (const auto found = names.find(std::string(name)); found != names.end()) return found->second;
    if (types.empty()) return std::nullopt;
    const std::string base = to_lower(base_name(name));
    for (const auto& [lower_text, rule] : types)
      if (base.find(lower_text) != std::string::npos || mindspore_calls(base, lower_text)) return rule;
    return std::nullopt;
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
      OPDUMP_TRY(auto pattern, compile(text, true));
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

Result<> OpSelector::narrow(FilterKind kind, std::string text) {
  if (text.empty()) return Error(Code::config, "the regular expression is empty");
  OPDUMP_TRY(auto pattern, compile(text, kind == FilterKind::module));
  if (kind == FilterKind::module) {
    OPDUMP_TRY(pattern, compile(std::string(kPartsBegin) + text + std::string(kPartsEnd), true));
  }
  state_->filters.push_back({{kind, std::move(text), 0}, std::move(pattern)});
  return ok();
}

bool OpSelector::wants(std::string_view name) {
  const bool passes = state_->passes_filters(name);
  if (!passes || state_->rules.empty()) return passes;
  const auto rule = state_->find_rule(name);
  if (rule) ++state_->rules[*rule].matches;
  return rule.has_value();
}

bool OpSelector::selects(std::string_view name) const {
  const auto matches = [&](const State::Narrowing& filter) { return filter.matches(name); };
  return std::ranges::all_of(state_->filters, matches) &&
         (state_->rules.empty() || state_->find_rule(name).has_value());
}

bool OpSelector::matches_regex(std::string_view name) const {
  const auto matches = [&](const auto& pattern) { return pattern.matches(name); };
  if (std::ranges::any_of(state_->regexes, matches)) return true;
  return !state_->filters.empty() && std::ranges::all_of(state_->filters, matches);
}

bool OpSelector::selects_all() const { return state_->rules.empty() && state_->filters.empty(); }

std::vector<OpSelector::SelectorRule> OpSelector::rules() const { return state_->rules; }

std::vector<OpSelector::Filter> OpSelector::filters() const {
  std::vector<Filter> filters;
  for (const State::Narrowing& narrowing : state_->filters) filters.push_back(narrowing.filter);
  return filters;
}

std::string_view base_name(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dash = name.rfind('-');
  const std::size_t end = dash == std::string_view::npos || dash < begin ? name.size() : dash;
  return name.substr(begin, end - begin);
}

std::string module_path(std::string_view name) {
  constexpr std::string_view kRoot = "Default/";
  name = model::without_gradients(name);
  if (name.starts_with(kRoot)) name.remove_prefix(kRoot.size());
  std::string path;
  for (std::size_t slash; (slash = name.find('/')) != std::string_view::npos; name.remove_prefix(slash + 1)) {
    const std::string_view part = name.substr(0, slash);
    path.append(path.empty() ? "" : ".").append(part.substr(0, part.rfind('-')));
  }
  return path;
}

namespace {

// On the filters of a selector.
void describe_unmatched_filters(const OpSelector& selector, std::span<const std::string_view> names,
                                std::span<const std::string_view> types,
                                std::vector<std::string>& sentences) {
  bool each_matched = true;
  std::string all;
  for (const OpSelector::Filter& filter : selector.filters()) {
    const bool is_module = filter.kind == FilterKind::module;
    const std::string what = (is_module ? "module '" : "ops '") + filter.text + "'";
    all.append(all.empty() ? "" : " and ").append(what);
    if (filter.matches > 0) continue;
    each_matched = false;
    std::set<std::string> paths;
    for (const std::string_view name : names)
      if (is_module) paths.insert(module_path(name));
    const std::vector<std::string_view> modules(paths.begin(), paths.end());
    sentences.push_back("no operator matched " + what + nearest(filter.text, is_module ? modules : types));
  }
  if (each_matched && !names.empty() &&
      std::ranges::none_of(names, [&](std::string_view name) { return selector.matches_regex(name); }))
    sentences.push_back("no operator matched " + all + " together");
}

// Whether a name or type has what only a regular expression has.
bool looks_like_regex(std::string_view text) {
  return text.find_first_of("*+?^$|()[]{}\\") != std::string_view::npos;
}

std::string hint_of(const OpSelector::SelectorRule& rule, std::span<const std::string_view> names,
                    std::span<const std::string_view> types) {
  if (rule.kind != RuleKind::type && rule.kind != RuleKind::name) return "";
  if (looks_like_regex(rule.text)) return "; a regular expression is written name-regex(" + rule.text + ")";
  return nearest(rule.text, rule.kind == RuleKind::type ? types : names);
}

}  // namespace

std::vector<std::string> describe_unmatched(const OpSelector& selector,
                                            std::span<const std::string_view> names) {
  std::set<std::string_view> types;
  for (const std::string_view name : names) types.insert(base_name(name));
  const std::vector<std::string_view> type_list(types.begin(), types.end());
  std::vector<std::string> sentences;
  for (const OpSelector::SelectorRule& rule : selector.rules()) {
    if (rule.matches > 0) continue;
    sentences.push_back("no operator matched '" + rule.text + "' of the kernels list" +
                        hint_of(rule, names, type_list));
  }
  if (!selector.filters().empty()) describe_unmatched_filters(selector, names, type_list, sentences);
  return sentences;
}

}  // namespace opdump::plan
