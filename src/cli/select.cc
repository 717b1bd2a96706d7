#include "cli/select.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "compare/names.h"

namespace opdump::cli {
namespace {

using compare::operator_name;
using dump::OperatorRun;

using Test = bool (*)(const OperatorRun& run, const std::string& text);

bool is_name(const OperatorRun& run, const std::string& text) {
  return operator_name(run) == text || run.name == text || run.name == model::sanitise_name(text);
}

bool is_name_end(const OperatorRun& run, const std::string& text) {
  return operator_name(run).ends_with("/" + text) ||
         (run.op == nullptr && run.name.ends_with("_" + model::sanitise_name(text)));
}

bool is_part(const OperatorRun& run, const std::string& text) {
  return operator_name(run).find(text) != std::string::npos ||
         run.name.find(model::sanitise_name(text)) != std::string::npos;
}

bool is_part_in_any_case(const OperatorRun& run, const std::string& text) {
  const std::string part = to_lower(text);
  return to_lower(operator_name(run)).find(part) != std::string::npos ||
         to_lower(run.name).find(to_lower(model::sanitise_name(text))) != std::string::npos;
}

// The words of a name that somebody may have meant: itself, its scopes, and these without their class.
void add_words(std::string_view name, std::set<std::string_view>& words) {
  words.insert(name);
  for (const std::string_view piece : split(name, '/')) {
    words.insert(piece);
    words.insert(piece.substr(0, piece.find('-')));
  }
}

Error no_operator(const std::vector<const OperatorRun*>& runs, const std::string& text) {
  std::set<std::string_view> words, names;
  for (const OperatorRun* run : runs) {
    names.insert(operator_name(*run));
    add_words(operator_name(*run), words);
  }
  const std::vector<std::string_view> candidates(words.begin(), words.end());
  const auto word = find_nearest(text, candidates);
  std::vector<std::string_view> shown;
  for (const std::string_view name : names)
    if (shown.size() < 3 && (!word || name.find(*word) != std::string_view::npos)) shown.push_back(name);
  return Error(Code::not_found, "no operator matches '" + text + "'; " +
                                    (word ? "nearest: " : "there are, for example: ") + join_or(shown));
}

}  // namespace

Result<std::vector<const OperatorRun*>> select_runs(const dump::DumpSet& dump, const RunFilter& filter) {
  std::vector<const OperatorRun*> in_step;
  std::vector<std::int64_t> steps;
  for (const OperatorRun& run : dump.runs()) {
    steps.push_back(run.step);
    if (!filter.step || run.step == *filter.step) in_step.push_back(&run);
  }
  if (filter.step && in_step.empty())
    return Error(Code::not_found, dump.path().string() + ": there is no step " +
                                      std::to_string(*filter.step) + "; the dump has " +
                                      compare::format_ranges(std::move(steps)));
  if (filter.op.empty() || in_step.empty()) return in_step;
  for (const Test test : {is_name, is_name_end, is_part, is_part_in_any_case}) {
    std::vector<const OperatorRun*> found;
    for (const OperatorRun* run : in_step)
      if (test(*run, filter.op)) found.push_back(run);
    if (!found.empty()) return found;
  }
  return no_operator(in_step, filter.op);
}

}  // namespace opdump::cli
