#include "cli/select.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

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

// Those of `candidates` whose operators `text` means. An operator is looked at once, however often it ran.
Result<std::vector<std::uint32_t>> select_named(const dump::Runs& runs,
                                                std::span<const std::uint32_t> candidates,
                                                const std::string& text) {
  std::map<std::tuple<std::string, std::string, bool>, std::size_t> known;  // name, sanitised, is full
  std::vector<std::size_t> operators;                                       // of the candidates
  std::vector<OperatorName> names;
  for (const std::uint32_t i : candidates) {
    const OperatorRun run = runs.without_slots(i);
    const auto [found, is_new] =
        known.try_emplace({compare::operator_name(run), run.name, run.op != nullptr}, names.size());
    operators.push_back(found->second);
    const auto& [name, sanitised, is_full] = found->first;
    if (is_new) names.push_back({name, sanitised, is_full});
  }
  OPDUMP_TRY(const std::vector<std::size_t> chosen, select_names(names, text));
  const std::set<std::size_t> wanted(chosen.begin(), chosen.end());
  std::vector<std::uint32_t> found;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (wanted.contains(operators[i])) found.push_back(candidates[i]);
  return found;
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

Result<std::vector<std::uint32_t>> select_runs(const dump::DumpSet& dump, const RunFilter& filter) {
  const dump::Runs& runs = dump.runs();
  std::vector<std::uint32_t> in_step;
  for (std::uint32_t i = 0; i < runs.size(); ++i)
    if (!filter.step || runs.section_of(i).step == *filter.step) in_step.push_back(i);
  if (filter.step && in_step.empty()) {
    std::vector<std::int64_t> steps;
    for (const dump::Runs::Section& section : runs.sections()) steps.push_back(section.step);
    return Error(Code::not_found, dump.path().string() + ": there is no step " +
                                      std::to_string(*filter.step) + "; the dump has " +
                                      compare::format_ranges(std::move(steps)));
  }
  if (filter.op.empty() || in_step.empty()) return in_step;
  return select_named(runs, in_step, filter.op);
}

}  // namespace opdump::cli
