#include "cli/arguments.h"

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/expansion.h"
#include "base/text/text.h"
#include "cli/help_text.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

// Names the first option that there is not. CLI11 lists it backwards with the words behind it, which may be
// its value.
std::string describe(const CLI::ExtrasError& error, const CLI::App& app) {
  for (const std::string& word : app.remaining()) {
    if (!word.starts_with('-') || word == "--") continue;
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    const std::string option = word.substr(0, word.find('='));
    const auto nearest = find_nearest(option, std::vector<std::string_view>(names.begin(), names.end()));
    if (nearest == option) break;  // it stands behind "--"
    return "there is no option " + option +
           (nearest ? " (did you mean " + std::string(*nearest) + "?)" : std::string());
  }
  return error.what();
}

}  // namespace

std::optional<Result<int>> parse_arguments(CLI::App& app, std::span<const char* const> args) {
  app.formatter(help_formatter());
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // CLI11 pops words from the back
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    terminal::end_when_unread(0);  // a verb that judges has not begun to
    terminal::print(app.help());
    return Result<int>(0);
  } catch (const CLI::ExtrasError& e) {
    return Result<int>(Error(Code::usage, describe(e, app) + "; see " + app.get_name() + " --help"));
  } catch (const CLI::Error& e) {
    return Result<int>(Error(Code::usage, std::string(e.what()) + "; see " + app.get_name() + " --help"));
  }
}

void add_expansion_limit(CLI::App& app) {
  const auto check = [](const std::string& text) -> std::string {
    return parse_bytes(text) ? "" : "is " + text + "; expected a size such as 512M or 4G";
  };
  const auto set = [](const std::string& text) { set_most_expanded(parse_bytes(text).value_or(0)); };
  app.add_option_function<std::string>(
         "--max-expand", set,
         "Limit for compressed data once expanded, and for a tensor written as text: "
         "4G; default: 1G, for large files 256 times their size")
      ->type_name("SIZE")
      ->check(CLI::Validator(check, ""));
}

CLI::Validator not_negative() {
  const auto check = [](const std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && std::isfinite(value) && value >= 0) return {};
    return "is " + text + "; expected a number of 0 or more";
  };
  return {check, ""};
}

}  // namespace opdump::cli
