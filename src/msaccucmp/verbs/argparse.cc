#include "msaccucmp/verbs/argparse.h"

#include <algorithm>
#include <utility>

#include "base/text/text.h"
#include "msaccucmp/python_text.h"

namespace opdump::msaccucmp {
namespace {

using Kind = ArgumentSpec::Kind;

constexpr ArgumentSpec kHelp{"-h", "--help", Kind::flag, false, {}, 0, false, {}};

constexpr std::string_view kEnd = "--";

std::string shown_name(const ArgumentSpec& spec) {
  std::string name(spec.name);
  if (!spec.long_name.empty()) name.append("/").append(spec.long_name);
  return name;
}

Error argument_error(const ArgumentSpec& spec, const std::string& message) {
  return {Code::usage, "argument " + shown_name(spec) + ": " + message};
}

bool is_safe_path(std::string_view value) {
  return std::ranges::all_of(value, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_/.,-").find(c) != std::string_view::npos;
  });
}

// What a word of the command line is: a value, or an option that may carry its value.
struct Word {
  bool is_option = false;
  const ArgumentSpec* spec = nullptr;  // none: an option that nobody knows
  std::string_view option;             // as it was understood
  std::optional<std::string_view> attached;
};

class ArgumentParser {
 public:
  explicit ArgumentParser(std::span<const ArgumentSpec> specs) : specs_(specs) {}

  Result<ParsedArguments> parse(std::span<const char* const> args) {
    bool is_over = false;  // nothing is an option behind "--", which is no value either
    for (const char* arg : args) {
      OPDUMP_TRY(const Word word, is_over ? Word{} : classify(arg));
      is_over = is_over || word.option == kEnd;
      words_.push_back(word);
      texts_.emplace_back(arg);
    }
    for (std::size_t i = 0; i < words_.size();) {
      OPDUMP_TRY(i, take(i));
      if (parsed_.wants_help) return std::move(parsed_);
    }
    OPDUMP_CHECK_OK(check_required());
    return std::move(parsed_);
  }

  // Before anything else "--" is an option only if nothing is behind it.
  std::size_t count_options(std::span<const char* const> words) const {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto word = classify(words[i]);
      const bool is_end = word && word->option == kEnd && i + 1 < words.size();
      if (word && (!word->is_option || is_end)) return i;
    }
    return words.size();
  }

 private:
  const ArgumentSpec* find(std::string_view option) const {
    if (option == kHelp.name || option == kHelp.long_name) return &kHelp;
    for (const ArgumentSpec& spec : specs_)
      if (!option.empty() && (option == spec.name || option == spec.long_name)) return &spec;
    return nullptr;
  }

  template <typename Use>
  void for_each_name(const Use& use) const {
    use(kHelp, kHelp.name), use(kHelp, kHelp.long_name);
    for (const ArgumentSpec& spec : specs_) {
      use(spec, spec.name);
      if (!spec.long_name.empty()) use(spec, spec.long_name);
    }
  }

  // The options that `word` can be short for, and the one-letter options it can be the value of.
  std::vector<Word> candidates(std::string_view word) const {
    std::vector<Word> found;
    if (word.starts_with("--")) {
      const std::size_t equals = word.find('=');
      const std::string_view prefix = word.substr(0, equals);
      std::optional<std::string_view> attached;
      if (equals != std::string_view::npos) attached = word.substr(equals + 1);
      for_each_name([&](const ArgumentSpec& spec, std::string_view name) {
        if (name.starts_with(prefix) && !spec.is_ours) found.push_back({true, &spec, name, attached});
      });
    } else {
      for_each_name([&](const ArgumentSpec& spec, std::string_view name) {
        if (name == word.substr(0, 2))
          found.push_back({true, &spec, name, word.substr(2)});
        else if (name.starts_with(word))
          found.push_back({true, &spec, name, std::nullopt});
      });
    }
    return found;
  }

  Result<Word> classify(std::string_view word) const {
    if (word == kEnd) return Word{true, nullptr, word, std::nullopt};
    if (!word.starts_with('-')) return Word{};
    if (const ArgumentSpec* spec = find(word)) return Word{true, spec, word, std::nullopt};
    if (word.size() == 1) return Word{};
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos)
      if (const ArgumentSpec* spec = find(word.substr(0, equals)))
        return Word{true, spec, word.substr(0, equals), word.substr(equals + 1)};
    const std::vector<Word> found = candidates(word);
    if (found.size() > 1) {
      std::string matches;
      for (const Word& match : found)
        matches.append(matches.empty() ? "" : ", ").append(std::string(match.option));
      return Error(Code::usage, "ambiguous option: " + std::string(word) + " could match " + matches);
    }
    if (found.size() == 1) return found.front();
    if (is_negative_number(word) || word.find(' ') != std::string_view::npos) return Word{};
    return Word{true, nullptr, word, std::nullopt};
  }

  // Handles the word at `i`; where to go on.
  Result<std::size_t> take(std::size_t i) {
    const Word& word = words_[i];
    if (!word.is_option || word.spec == nullptr) {
      parsed_.unrecognized.push_back(texts_[i]);
      return i + 1;
    }
    return take_option(word, i);
  }

  // An option and its values.
  struct Action {
    const ArgumentSpec* spec = nullptr;
    std::vector<std::string> values;
  };

  // An option, and those behind a flag in the same word: they are done when all of them are known.
  Result<std::size_t> take_option(Word word, std::size_t i) {
    std::vector<Action> actions;
    while (word.spec->kind == Kind::flag && word.attached) {
      actions.push_back({word.spec, {}});
      OPDUMP_TRY(word, behind_flag(word));
    }
    ++i;
    Action last{word.spec, {}};
    if (word.attached) {
      last.values.emplace_back(*word.attached);
    } else if (word.spec->kind != Kind::flag) {
      OPDUMP_TRY(i, take_values(*word.spec, i, last.values));
    }
    actions.push_back(std::move(last));
    for (Action& action : actions) {
      parsed_.wants_help = action.spec == &kHelp;
      if (parsed_.wants_help) break;
      OPDUMP_CHECK_OK(store(*action.spec, std::move(action.values)));
    }
    return i;
  }

  // What a flag cannot take are letters of further options, as in "-xvf".
  Result<Word> behind_flag(const Word& word) const {
    const std::string_view letters = *word.attached;
    const std::string option = "-" + std::string(letters.substr(0, 1));
    const bool is_short = !word.option.starts_with("--") && !letters.empty();
    const ArgumentSpec* next = is_short ? find(option) : nullptr;
    if (next == nullptr)
      return argument_error(*word.spec, "ignored explicit argument " + python_quoted(letters));
    Word rest{true, next, next->name, std::nullopt};
    if (letters.size() > 1) rest.attached = letters.substr(1);
    return rest;
  }

  // The words from `i` on that are the option's values; where to go on.
  Result<std::size_t> take_values(const ArgumentSpec& spec, std::size_t i,
                                  std::vector<std::string>& values) const {
    for (; i < words_.size() && !words_[i].is_option && (spec.takes_many || values.empty()); ++i)
      values.push_back(texts_[i]);
    if (!values.empty()) return i;
    return argument_error(spec, spec.takes_many ? "expected at least one argument" : "expected one argument");
  }

  Result<> store(const ArgumentSpec& spec, std::vector<std::string> values) {
    for (std::string& value : values) OPDUMP_CHECK_OK(check_kind(spec, value));
    for (const std::string& value : values) OPDUMP_CHECK_OK(check_choice(spec, value));
    for (const ArgumentSpec& other : specs_)
      if (spec.exclusive_group != 0 && other.exclusive_group == spec.exclusive_group &&
          other.name != spec.name && parsed_.has(other.name))
        return argument_error(spec, "not allowed with argument " + shown_name(other));
    parsed_.values[spec.name] = std::move(values);
    return ok();
  }

  static Result<> check_kind(const ArgumentSpec& spec, std::string& value) {
    if (spec.kind == Kind::path && !is_safe_path(value))
      return argument_error(spec, "invalid safe_path_string value: " + python_quoted(value));
    if (spec.kind != Kind::integer) return ok();
    auto number = python_int(value);
    if (!number) return argument_error(spec, "invalid int value: " + python_quoted(value));
    value = std::move(*number);
    return ok();
  }

  static Result<> check_choice(const ArgumentSpec& spec, const std::string& value) {
    if (!spec.words.empty() && std::ranges::find(spec.words, value) == spec.words.end())
      return not_among(spec, python_quoted(value), quoted_words(spec.words));
    if (spec.choices.empty() || std::ranges::find(spec.choices, parse_int64(value)) != spec.choices.end())
      return ok();
    std::string choices;
    for (const int choice : spec.choices)
      choices.append(choices.empty() ? "" : ", ").append(std::to_string(choice));
    return not_among(spec, value, choices);
  }

  static std::string quoted_words(std::span<const std::string_view> words) {
    std::string text;
    for (const std::string_view word : words)
      text.append(text.empty() ? "" : ", ").append(python_quoted(word));
    return text;
  }
  static Error not_among(const ArgumentSpec& spec, const std::string& value, const std::string& choices) {
    return argument_error(spec, "invalid choice: " + value + " (choose from " + choices + ")");
  }

  Result<> check_required() const {
    std::string missing;
    for (const ArgumentSpec& spec : specs_)
      if (spec.is_required && !parsed_.has(spec.name))
        missing.append(missing.empty() ? "" : ", ").append(shown_name(spec));
    if (missing.empty()) return ok();
    return Error(Code::usage, "the following arguments are required: " + missing);
  }

  std::span<const ArgumentSpec> specs_;
  std::vector<Word> words_;
  std::vector<std::string> texts_;
  ParsedArguments parsed_;
};

}  // namespace

std::string ParsedArguments::value(std::string_view name, std::string_view otherwise) const {
  const auto found = values.find(name);
  return found == values.end() || found->second.empty() ? std::string(otherwise) : found->second.back();
}

std::optional<std::int64_t> ParsedArguments::number(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  const std::string digits = value(name);
  if (const auto number = parse_int64(digits)) return number;
  return digits.starts_with('-') ? INT64_MIN : INT64_MAX;  // beyond all bounds
}

Result<ParsedArguments> parse_arguments(std::span<const ArgumentSpec> specs,
                                        std::span<const char* const> words) {
  return ArgumentParser(specs).parse(words);
}

std::size_t count_leading_options(std::span<const char* const> words) {
  return ArgumentParser({}).count_options(words);
}

}  // namespace opdump::msaccucmp
