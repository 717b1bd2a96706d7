#include "cli/diff/answer.h"

#include "base/text/json.h"
#include "blame/report.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFindings = 20;

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

Exit exit_of(const DiffAnswer& answer) {
  switch (answer.outcome) {
    case DiffOutcome::identical:
    case DiffOutcome::rounding:
      return Exit::match;
    case DiffOutcome::differs:
      return Exit::mismatch;
    case DiffOutcome::not_reproducible:
    case DiffOutcome::incomplete:
      break;
  }
  return Exit::incomplete;
}

std::string format_diff(const DiffAnswer& answer, const std::string& folder) {
  std::string text;
  if (!answer.where.empty()) text += answer.where + "\n";
  text += answer.sentence + "\n";
  if (answer.blame) {  // behind its first line, which is the sentence
    const std::string all = blame::format_answer(*answer.blame, answer.golden, answer.actual);
    text += all.substr(std::min(all.size(), all.find('\n') + 1));
  }
  for (const std::string& note : answer.notes) text += "note: " + note + "\n";
  for (const std::string& command : answer.commands) text += "  " + command + "\n";
  if (!answer.report.empty()) text += "report: " + answer.report + "\n";
  return text + "recordings: " + folder + "\n";
}

std::string diff_json(const DiffAnswer& answer, const std::vector<DiffSide>& sides,
                      const std::string& folder) {
  Json json;
  json["schema_version"] = kDiffSchemaVersion;
  json["outcome"] = kDiffOutcomeNames[static_cast<std::size_t>(answer.outcome)];
  json["sentence"] = answer.sentence;
  json["where"] = text_or_null(answer.where);
  json["steps"] = answer.steps;
  json["step"] = answer.step ? Json(*answer.step) : Json();
  json["operator"] = text_or_null(answer.op);
  json["source"] = text_or_null(answer.source);
  json["sides"] = Json::array();
  for (const DiffSide& side : sides)
    json["sides"].push_back({{"name", side.name},
                             {"command", side.command.text},
                             {"directory", text_or_null(side.directory.string())},
                             {"folder", side.folder.string()},
                             {"revision", text_or_null(side.revision)}});
  json["golden"] = text_or_null(answer.golden);
  json["actual"] = text_or_null(answer.actual);
  json["report"] = text_or_null(answer.report);
  json["folder"] = folder;
  json["notes"] = answer.notes;
  json["commands"] = answer.commands;
  json["blame"] =
      answer.blame
          ? parse_ordered_json(blame::answer_json(*answer.blame, answer.golden, answer.actual, kFindings))
          : Json();
  return json_text(json) + "\n";
}

}  // namespace opdump::cli
