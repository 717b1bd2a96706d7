#include "cli/help_text.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/text/columns.h"
#include "base/text/text.h"

namespace opdump::cli {
namespace {

constexpr std::size_t kWidth = 80, kDescription = 24;  // columns; where descriptions begin

// Paragraphs are filled. Lines that begin with a space, as commands do, stay as they are.
std::string filled(std::string_view text) {
  std::string lines, paragraph;
  const auto flush = [&] {
    if (!paragraph.empty()) lines += wrap_words(paragraph, kWidth, 0) + "\n";
    paragraph.clear();
  };
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty() && line[0] != ' ') {
      paragraph.append(paragraph.empty() ? "" : " ").append(line);
      continue;
    }
    flush();
    lines.append(line).append("\n");
  }
  flush();
  return lines;
}

// What stands for an option's value, of options with the same name in every verb.
constexpr std::pair<std::string_view, std::string_view> kValues[] = {
    {"against", "DUMP"},     {"atol", "NUMBER"},   {"calibrate", "DUMP"},
    {"color", "WHEN"},       {"compiled", "HOW"},  {"csv", "FILE"},
    {"depth", "LEVELS"},     {"device", "NUMBER"}, {"executions", "COUNT"},
    {"format", "LAYOUT"},    {"graph", "FILE"},    {"input", "NAME=FILE"},
    {"input-dir", "FOLDER"}, {"limit", "COUNT"},   {"limits", "FILE"},
    {"map", "FILE"},         {"module", "NAME"},   {"noise", "COUNT"},
    {"op", "NAME"},          {"output", "FILE"},   {"output-dir", "FOLDER"},
    {"phase", "PHASE"},      {"port", "NUMBER"},   {"python", "PYTHON"},
    {"random", "SEED"},      {"rank", "RANK"},     {"replays", "COUNT"},
    {"rows", "ROWS"},        {"rtol", "NUMBER"},   {"save", "FILE"},
    {"shard", "FILE"},       {"side", "SIDE"},     {"slot", "SLOT"},
    {"sort", "ORDER"},       {"source", "LINES"},  {"step", "STEP"},
    {"threads", "COUNT"},    {"to", "FORMAT"},     {"type", "TYPE"},
    {"values", "COUNT"},     {"without", "RULES"}, {"device-format", "FORMATS"}};

// CLI11 names kinds of values: TEXT, UINT. Those of verbs are kept.
std::string_view value_name(const CLI::Option& option, std::string_view given) {
  if (given != "TEXT" && given != "INT" && given != "UINT" && given != "FLOAT") return given;
  for (const auto& [name, value] : kValues)
    if (option.check_lname(std::string(name))) return value;
  return given;
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override { return filled(app->get_description()); }

  // A command is set apart: its options are its own.
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    if (const std::size_t command = usage.find(" COMMAND..."); command != std::string::npos)
      usage.insert(command, " --");
    return usage;
  }

  std::string make_footer(const CLI::App* app) const override { return filled(app->get_footer()); }

  // "  --limit COUNT         What it is for". What a value may be is said by the description.
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string line = "  " + make_option_name(option, is_positional);
    if (const std::size_t comma = line.find(','); comma != std::string::npos) line.insert(comma + 1, " ");
    if (!is_positional && option->get_type_size() != 0)
      line.append(" ").append(value_name(*option, split(option->get_type_name(), ':')[0]));
    const std::string about =
        option->get_description() + (!is_positional && option->get_required() ? " (required)" : "");
    if (line.size() + 2 > kDescription)
      line += "\n" + std::string(kDescription, ' ');
    else
      line.append(kDescription - line.size(), ' ');
    const std::size_t begin = line.find('\n') + 1;  // of the last line
    return line.substr(0, begin) + wrap_words(line.substr(begin) + about, kWidth, kDescription) + "\n";
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

}  // namespace opdump::cli
