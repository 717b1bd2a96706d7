#include "cli/select.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/text/text.h"
#include "compare/names.h"
#include "terminal/output.h"

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

constexpr Test kTests[] = {is_name, is_name_end, is_part, is_part_in_any_case};

// Which of very many names a text means; none of them is kept.
class NameSelection {
 public:
  explicit NameSelection(const std::string& text) : text_(text) {}

  void look(std::uint32_t number, const OperatorName& name) {
    for (std::size_t i = 0; i < std::min(best_ + 1, std::size(kTests)); ++i) {
      if (!kTests[i](name, text_)) continue;
      if (i < best_) found_.clear();
      best_ = i;
      found_.push_back(number);
      return;
    }
  }
  Chosen take() { return std::move(found_); }

 private:
  const std::string& text_;
  std::size_t best_ = std::size(kTests);  // the first test that anything passed
  Chosen found_;
};

// Builds the error for a text that matches none of the names. The names are scanned twice: for the most
// similar word, and for names with it.
class Suggestion {
 public:
  explicit Suggestion(const std::string& text) : text_(text) {}

  // The words that somebody may have meant: a name itself, its scopes, and these without their class.
  void look_for_word(std::string_view name) {
    add_word(name);
    for (const std::string_view piece : split(name, '/')) {
      add_word(piece);
      add_word(piece.substr(0, piece.find('-')));
    }
  }

  void look_for_name(std::string_view name) {
    if (word_ && name.find(*word_) == std::string_view::npos) return;
    if (shown_.size() == kShown && *shown_.rbegin() <= name) return;
    shown_.emplace(name);
    if (shown_.size() > kShown) shown_.erase(std::prev(shown_.end()));
  }

  Error error() const {
    return Error(Code::not_found, "no operator matches '" + text_ + "'; " +
                                      (word_ ? "nearest: " : "there are, for example: ") +
                                      join_or(std::vector<std::string_view>(shown_.begin(), shown_.end())));
  }

 private:
  static constexpr std::size_t kShown = 3;

  // Of equally near words the first one in the order of letters.
  void add_word(std::string_view word) {
    if (word_ == word) return;
    std::vector<std::string_view> words{word};
    if (word_) words.insert(*word_ < word ? words.begin() : words.end(), *word_);
    if (const auto nearest = find_nearest(text_, words)) word_ = std::string(*nearest);
  }

  const std::string& text_;
  std::optional<std::string> word_;
  std::set<std::string> shown_;
};

// visit(look) calls look(number, name) for each name.
template <typename Visit>
Result<Chosen> select(const Visit& visit, const std::string& text) {
  NameSelection selection(text);
  visit([&](std::uint32_t number, const OperatorName& name) { selection.look(number, name); });
  Chosen found = selection.take();
  if (!found.empty()) return found;
  Suggestion suggestion(text);
  visit([&](std::uint32_t, const OperatorName& name) { suggestion.look_for_word(name.name); });
  visit([&](std::uint32_t, const OperatorName& name) { suggestion.look_for_name(name.name); });
  return suggestion.error();
}

}  // namespace

void add_filter(CLI::App& app, RunFilter& filter) {
  app.add_option("--op", filter.op, "Only operators with this name, or with this text in their name");
  app.add_option("--step", filter.step, "Only this step");
}

Result<Chosen> select_names(std::span<const OperatorName> names, const std::string& text) {
  const auto visit = [&](const auto& look) {
    for (std::uint32_t i = 0; i < names.size(); ++i) look(i, names[i]);
  };
  return select(visit, text);
}

Result<Chosen> select_runs(const dump::DumpSet& dump, const RunFilter& filter) {
  const dump::Runs& runs = dump.runs();
  Chosen in_step;
  for (std::uint32_t i = 0; i < runs.size(); ++i)
    if (!filter.step || runs.section_of(i).step == *filter.step) in_step.push_back(i);
  if (filter.step && in_step.empty()) {
    std::set<std::int64_t> steps;
    for (std::uint32_t i = 0; i < runs.section_count(); ++i) steps.insert(runs.section(i).step);
    return Error(Code::not_found, dump.path().string() + ": there is no step " +
                                      std::to_string(*filter.step) + "; the dump has " +
                                      compare::format_ranges(steps));
  }
  if (filter.op.empty() || in_step.empty()) return in_step;
  const auto visit = [&](const auto& look) {
    for (const std::uint32_t i : in_step) {
      const OperatorRun run = runs.without_slots(i);
      look(i, OperatorName{compare::operator_name(run), run.name, run.op != nullptr});
    }
  };
  return select(visit, filter.op);
}

void remark_unfinished(const dump::DumpSet& dump) {
  for (const auto& [rank, status] : dump.statuses()) {
    if (status.state == "complete") continue;
    const std::string what = status.state == "recording"
                                 ? "is unfinished: it was interrupted or is still running"
                                 : "is " + status.state;
    terminal::print_remark(LogLevel::warning, dump.path().string() + ": rank " + std::to_string(rank) +
                                                  ": the recording " + what);
  }
}

}  // namespace opdump::cli
