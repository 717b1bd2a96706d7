#include "cli/select.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "compare/names.h"

namespace opdump::cli {
namespace {

using dump::OperatorRun;

using Test = bool (*)(const OperatorName& name, const std::string& text);

bool is_name(const OperatorName& name, const std::string& text) {
  return name.name == text || name.sanitised == text || name.sanitised == model::sanitise_name(text);
}

bool is_name_end(const OperatorName& name, const std::string& text) {
  return name.name.ends_with("/" + text) ||
         (!name.is_full && name.sanitised.ends_with("_" + model::sanitise_name(text)));
}

bool is_part(const OperatorName& name, const std::string& text) {
  return name.name.find(text) != std::string_view::npos ||
         name.sanitised.find(model::sanitise_name(text)) != std::string_view::npos;
}

bool is_part_in_any_case(const OperatorName& name, const std::string& text) {
  const std::string part = to_lower(text);
  return to_lower(name.name).find(part) != std::string::npos ||
         to_lower(name.sanitised).find(to_lower(model::sanitise_name(text))) != std::string::npos;
}

// The words of a name that somebody may have meant: itself, its scopes, and these without their class.
void add_words(std::string_view name, std::set<std::string_view>& words) {
  words.insert(name);
  for (const std::string_view piece : split(name, '/')) {
    words.insert(piece);
    words.insert(piece.substr(0, piece.find('-')));
  }
}

Error no_operator(std::span<const OperatorName> all, const std::string& text) {
  std::set<std::string_view> words, names;
  for (const OperatorName& name : all) {
    names.insert(name.name);
    add_words(name.name, words);
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

void add_filter(CLI::App& app, RunFilter& filter) {
  app.add_option("--op", filter.op, "Only operators of this name, or with this in their name");
  app.add_option("--step", filter.step, "Only this step");
}

Result<std::vector<std::size_t>> select_names(std::span<const OperatorName> names, const std::string& text) {
  for (const Test test : {is_name, is_name_end, is_part, is_part_in_any_case}) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (test(names[i], text)) found.push_back(i);
    if (!found.empty()) return found;
  }
  return no_operator(names, text);
}

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
  std::vector<OperatorName> names;
  for (const OperatorRun* run : in_step)
    names.push_back({compare::operator_name(*run), run->name, run->op != nullptr});
  OPDUMP_TRY(const std::vector<std::size_t> chosen, select_names(names, filter.op));
  std::vector<const OperatorRun*> found;
  for (const std::size_t index : chosen) found.push_back(in_step[index]);
  return found;
}

}  // namespace opdump::cli
