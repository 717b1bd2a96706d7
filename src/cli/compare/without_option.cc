#include "cli/compare/without_option.h"

#include <string_view>

#include "base/text/text.h"
#include "compare/rules/rule.h"

namespace opdump::cli {

void add_without_option(CLI::App& app, std::vector<std::string>& names) {
  app.add_option("--without", names, "Rules that are switched off; see opdump rules");
}

Result<> switch_off(const std::vector<std::string>& names, compare::CompareOptions& options) {
  std::vector<std::string_view> known;
  for (const compare::Rule* rule : compare::rules()) known.push_back(rule->name);
  for (const std::string& name : names) {
    if (compare::find_rule(name) == nullptr) {
      const auto nearest = find_nearest(name, known);
      return Error(Code::usage, "--without: there is no rule " + name +
                                    (nearest ? " (did you mean " + std::string(*nearest) + "?)" : "") +
                                    "; opdump rules lists them");
    }
    options.without.insert(name);
  }
  return ok();
}

}  // namespace opdump::cli
