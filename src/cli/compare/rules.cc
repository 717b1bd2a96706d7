// `opdump rules`: how a comparison reasons.
#include <nlohmann/json.hpp>
#include <string>

#include "base/text/json.h"
#include "cli/arguments.h"
#include "cli/verb.h"
#include "compare/rules/rule.h"
#include "report/jsonl.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

constexpr std::string_view kRulesFooter =
    R"(A comparison applies the rules in this order. Rows, notes and the first bad operator of
opdump compare --json name the rule that made them. A rule that is one of the reasons of "rounding" is
asked where that rule stands.

Examples:
  opdump rules
  opdump compare golden actual --explain
  opdump compare golden actual --without cancelled-terms)";

// One line for each rule, its sentence wrapped behind its name.
std::string format_rules() {
  constexpr std::size_t kWidth = 78, kIndent = 4;
  std::string text;
  compare::Stage stage = compare::Stage::remark;
  for (const compare::Rule* rule : compare::rules()) {
    if (text.empty() || rule->stage != stage)
      text += (text.empty() ? "" : "\n") +
              std::string(compare::kStageNames[static_cast<std::size_t>(rule->stage)]) + "\n";
    stage = rule->stage;
    text += "  " + std::string(rule->name) + "\n";
    std::string line(kIndent, ' ');
    for (std::size_t at = 0; at < rule->sentence.size();) {
      const std::size_t end = std::min(rule->sentence.find(' ', at), rule->sentence.size());
      const std::string_view word = rule->sentence.substr(at, end - at);
      if (line.size() > kIndent && line.size() + 1 + word.size() > kWidth) {
        text += line + "\n";
        line.assign(kIndent, ' ');
      }
      if (line.size() > kIndent) line += ' ';
      line += word;
      at = end + 1;
    }
    text += line + "\n";
  }
  return text;
}

std::string rules_as_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const compare::Rule* rule : compare::rules())
    list.push_back({{"rule", rule->name},
                    {"stage", compare::kStageNames[static_cast<std::size_t>(rule->stage)]},
                    {"sentence", rule->sentence}});
  nlohmann::ordered_json root;
  root["schema_version"] = report::kJsonSchemaVersion;
  root["rules"] = std::move(list);
  return json_text(root) + "\n";
}

}  // namespace

Result<int> run_rules(std::span<const char* const> args) {
  CLI::App app("Lists the rules by which a comparison reasons, in their order.", "opdump rules");
  bool json = false;
  app.add_flag("--json", json, "Print them as one JSON object");
  app.footer(std::string(kRulesFooter));
  if (auto done = parse_arguments(app, args)) return *done;
  if (json)
    terminal::print_json(rules_as_json());
  else
    terminal::print(format_rules());
  return 0;
}

}  // namespace opdump::cli
