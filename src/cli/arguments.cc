#include "cli/arguments.h"

#include <cmath>
#include <string>
#include <vector>

#include "base/text/expansion.h"
#include "base/text/text.h"
#include "cli/help_text.h"
#include "terminal/output.h"

namespace opdump::cli {

std::optional<Result<int>> parse_arguments(CLI::App& app, std::span<const char* const> args) {
  app.formatter(help_formatter());
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // CLI11 pops words from the back
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    terminal::print(app.help());
    return Result<int>(0);
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
