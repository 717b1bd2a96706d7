#include "blame/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "base/text/text.h"
#include "compare/names.h"

namespace opdump::blame {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxOthers = 4;   // findings beside the culprit in the text
constexpr std::size_t kMaxReasons = 5;  // why operators were not run again

std::string place_of(const Finding& finding) {
  const dump::OperatorRun& run = finding.op.run();
  std::string text = compare::one_line(compare::operator_name(run)) + " (";
  if (run.op != nullptr)
    text.append(model::kPhaseNames[static_cast<std::size_t>(run.op->phase)]).append(", ");
  text +=
      "step " + std::to_string(run.step) + (run.rank > 0 ? ", rank " + std::to_string(run.rank) : "") + ")";
  const std::string source = run.op != nullptr ? dump::describe_source(*run.op) : "";
  return source.empty() ? text : text + " at " + source;
}

std::string index_of(const std::vector<std::int64_t>& worst) {
  std::string text;
  for (const std::int64_t i : worst) text += (text.empty() ? "" : ",") + std::to_string(i);
  return "(" + text + ")";
}

bool is_wrong(const Finding& finding) {
  return finding.cause == Cause::own_error || finding.cause == Cause::golden_at_fault ||
         finding.cause == Cause::both;
}

std::string confidence_of(const Finding& finding) {
  return std::string(kConfidenceNames[static_cast<std::size_t>(finding.confidence)]);
}

Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json error_json(const OutputError& error) {
  Json json{{"r", number(error.r)},
            {"rho", number(error.rho)},
            {"alpha", number(error.alpha)},
            {"relative", number(error.relative)},
            {"elements", error.count}};
  if (error.wrong) json["wrong"] = *error.wrong;
  if (!error.worst.empty() || error.count == 1) {
    json["worst"] = error.worst;
    json["value"] = number(error.value);
    json["reference"] = number(error.reference);
  }
  return json;
}

Json finding_json(const Finding& finding) {
  const dump::OperatorRun& run = finding.op.run();
  Json json{{"cause", kCauseNames[static_cast<std::size_t>(finding.cause)]},
            {"confidence", confidence_of(finding)},
            {"operator", compare::operator_name(run)},
            {"type", run.type},
            {"rank", run.rank},
            {"step", run.step}};
  if (run.op != nullptr) {
    json["phase"] = model::kPhaseNames[static_cast<std::size_t>(run.op->phase)];
    if (const std::string source = model::format_source(*run.op); !source.empty()) json["source"] = source;
  }
  if (!finding.slot.empty()) json["slot"] = finding.slot;
  json["why"] = finding.why;
  if (!finding.op.rule.empty()) json["rule"] = finding.op.rule;
  if (!finding.later_steps.empty()) json["later_steps"] = finding.later_steps;
  if (!finding.others.empty()) json["others"] = finding.others;
  if (finding.removes) json["removes"] = number(*finding.removes);
  if (finding.error) json["error"] = error_json(*finding.error);
  return json;
}

// "  without it, 71 % of the final error is gone". Culprits may make up for one another in part.
std::string describe_removal(std::string_view without, double share) {
  const double percent = std::round(100 * share);
  if (percent < 0) return "  without " + std::string(without) + " alone, the final error is larger\n";
  return "  without " + std::string(without) + ", " + format_g(percent) + " % of the final error is gone\n";
}

// Describes what is known of a culprit beside its line.
std::string describe_culprit(const Finding& finding) {
  std::string text;
  if (!finding.later_steps.empty())
    text += "  the same in " + std::string(inflect(finding.later_steps.size(), "step ", "steps ")) +
            compare::format_ranges(finding.later_steps) + "\n";
  if (!finding.others.empty())
    text += "  the same in " + compare::one_line(finding.others.front()) +
            (finding.others.size() > 1 ? " and " + std::to_string(finding.others.size() - 1) + " more" : "") +
            "\n";
  if (finding.removes) text += describe_removal("it", *finding.removes);
  return text;
}

}  // namespace

std::string statement_of(const Finding& finding) {
  switch (finding.cause) {
    case Cause::own_error:
      return "computes a wrong " + finding.slot + ": " + finding.why;
    case Cause::golden_at_fault:
      return "computes a wrong " + finding.slot + " in golden: " + finding.why;
    case Cause::both:
      return "computes a wrong " + finding.slot + " in both runs: " + finding.why;
    case Cause::argument:
      return "has other arguments: " + finding.why;
    case Cause::input:
    case Cause::overwritten:
      return "reads another " + finding.slot + ": " + finding.why;
    case Cause::overflow:
    case Cause::random:
      return "gives another " + finding.slot + ": " + finding.why;
    case Cause::sequence:
      return "is " + finding.why;
    case Cause::unknown:
      break;
  }
  return "gives another " + finding.slot + ": " + finding.why;
}

std::string first_line(const BlameAnswer& answer) {
  const std::string differing = std::to_string(answer.differing) + " of " +
                                counted(answer.compared, "operator") +
                                inflect(answer.differing, " differs", " differ");
  switch (answer.outcome) {
    case BlameOutcome::differs:
      return "culprit (" + confidence_of(answer.findings.front()) +
             "): " + place_of(answer.findings.front()) + " " + statement_of(answer.findings.front());
    case BlameOutcome::rounding:
      return "no culprit: " + differing + ", and rounding explains it";
    case BlameOutcome::same:
      return "no difference: " + counted(answer.compared, "operator");
    case BlameOutcome::incomplete:
      break;
  }
  if (answer.is_examined)
    return "no culprit found, but the result is incomplete: " + differing +
           (answer.differing > 0 ? ", and rounding explains it" : "");
  return "cannot tell: " + differing + ", no culprit was found, and some operators could not be examined";
}

std::string format_answer(const BlameAnswer& answer, std::string_view golden, std::string_view actual) {
  std::string text = first_line(answer) + "\n";
  if (answer.outcome == BlameOutcome::differs) {
    const Finding& culprit = answer.findings.front();
    if (culprit.error && !culprit.error->worst.empty())
      text += "  worst element " + index_of(culprit.error->worst) + ": " + format_g(culprit.error->value) +
              ", and " + format_g(culprit.error->reference) + " in float64 from the same inputs\n";
    text += describe_culprit(culprit);
    for (const std::string& link : answer.chain) text += "  then " + link + "\n";
    if (is_wrong(culprit))
      text += "  opdump reproduce " + std::string(culprit.cause == Cause::golden_at_fault ? golden : actual) +
              " " + compare::one_line(compare::operator_name(culprit.op.run())) + " --step " +
              std::to_string(culprit.op.run().step) + " -o script.py\n";
    for (std::size_t i = 1; i < std::min(answer.findings.size(), kMaxOthers + 1); ++i) {
      const Finding& finding = answer.findings[i];
      text += (finding.confidence == Confidence::certain ? "also (" : "or (") + confidence_of(finding) +
              "): " + place_of(finding) + " " + statement_of(finding) + "\n" + describe_culprit(finding);
    }
    if (answer.removed) text += describe_removal("all of them", *answer.removed);
  }
  for (const std::string& note : answer.notes) text += "note: " + note + "\n";
  for (const std::string& reason : answer.incomplete) text += "incomplete: " + reason + "\n";
  for (std::size_t i = 0; i < std::min(answer.not_replayed.size(), kMaxReasons); ++i)
    text += "not run again: " + answer.not_replayed[i] + "\n";
  // Operators that only one run has run again, too.
  return text + "ran " + counted(answer.replayed, "operator") + " again; " +
         std::to_string(answer.differing) + inflect(answer.differing, " differs\n", " differ\n");
}

std::string answer_json(const BlameAnswer& answer, std::string_view golden, std::string_view actual,
                        std::size_t limit) {
  Json json{{"schema_version", kJsonSchemaVersion},
            {"record", "blame"},
            {"golden", golden},
            {"actual", actual},
            {"outcome", kOutcomeNames[static_cast<std::size_t>(answer.outcome)]},
            {"summary", first_line(answer)},
            {"findings", Json::array()},
            {"removed", answer.removed ? number(*answer.removed) : Json()},
            {"chain", answer.chain},
            {"operators", answer.compared},
            {"differing", answer.differing},
            {"replayed", answer.replayed},
            {"not_replayed", answer.not_replayed},
            {"notes", answer.notes},
            {"incomplete", answer.incomplete}};
  for (std::size_t i = 0; i < std::min(limit, answer.findings.size()); ++i)
    json["findings"].push_back(finding_json(answer.findings[i]));
  return json_text(json) + "\n";
}

}  // namespace opdump::blame
