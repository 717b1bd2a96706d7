#include "cli/diff/command_line.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace opdump::cli {
namespace {

constexpr std::string_view kForShell = "|&;<>()$`*?[]~#\n{}!";
constexpr std::string_view kPlain = "-_./=:,+@%^";

struct SplitText {
  std::vector<std::string> words;
  bool needs_shell = false;
};

// The part of a text between quotation marks, from `i` on, which is behind the first one.
Result<> take_quoted(std::string_view text, std::size_t& i, char mark, std::string& word, bool& needs_shell) {
  for (; i < text.size() && text[i] != mark; ++i) {
    if (mark == '"' && (text[i] == '$' || text[i] == '`')) needs_shell = true;
    const bool escapes = mark == '"' && text[i] == '\\' && i + 1 < text.size() &&
                         std::string_view("\"\\$`").find(text[i + 1]) != std::string_view::npos;
    if (escapes) ++i;
    word += text[i];
  }
  if (i == text.size())
    return Error(Code::usage, "the command line '" + std::string(text) + "' has a quote without an end");
  return ok();
}

Result<SplitText> split_words(std::string_view text) {
  SplitText split;
  std::optional<std::string> word;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ' || c == '\t') {
      if (word) split.words.push_back(std::move(*word));
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    if (c == '\'' || c == '"') {
      OPDUMP_CHECK_OK(take_quoted(text, ++i, c, *word, split.needs_shell));
    } else if (c == '\\' && i + 1 < text.size()) {
      *word += text[++i];
    } else {
      if (kForShell.find(c) != std::string_view::npos) split.needs_shell = true;
      *word += c;
    }
  }
  if (word) split.words.push_back(std::move(*word));
  return split;
}

// "VAR=value": the name's length, 0 if it is none.
std::size_t assigned_name(std::string_view word) {
  const std::size_t end = word.find('=');
  if (end == std::string_view::npos || end == 0 || std::isdigit(static_cast<unsigned char>(word[0])))
    return 0;
  const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return std::ranges::all_of(word.substr(0, end), is_name) ? end : 0;
}

Result<CommandLine> take_words(std::vector<std::string> words, std::string text) {
  CommandLine command{.text = std::move(text), .environment = {}, .words = {}};
  auto first = words.begin();
  for (; first != words.end(); ++first) {
    const std::size_t name = assigned_name(*first);
    if (name == 0) break;
    command.environment.emplace_back(first->substr(0, name), first->substr(name + 1));
  }
  command.words.assign(std::make_move_iterator(first), std::make_move_iterator(words.end()));
  if (command.words.empty())
    return Error(Code::usage, "the command line '" + command.text + "' has no program");
  return command;
}

}  // namespace

Result<CommandLine> parse_command_line(std::string_view text) {
  OPDUMP_TRY(SplitText split, split_words(text));
  if (!split.needs_shell) return take_words(std::move(split.words), std::string(text));
  return CommandLine{
      .text = std::string(text), .environment = {}, .words = {"/bin/sh", "-c", std::string(text)}};
}

Result<CommandLine> make_command_line(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const std::size_t name = assigned_name(word);
    if (!text.empty()) text += ' ';
    text += name == 0 ? quote_word(word)
                      : word.substr(0, name + 1) + quote_word(std::string_view(word).substr(name + 1));
  }
  return take_words(words, std::move(text));
}

std::string quote_word(std::string_view word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || kPlain.find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace opdump::cli
