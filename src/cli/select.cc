#include "cli/select.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include "base/text/natural_order.h"
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

// A step or a rank that the dump does not have is a mistake, whatever else is asked for.
Result<> check_places(const dump::DumpSet& dump, const RunFilter& filter) {
  std::set<std::int64_t> steps, ranks;
  for (std::uint32_t i = 0; i < dump.runs().section_count(); ++i) {
    steps.insert(dump.runs().section(i).step);
    ranks.insert(dump.runs().section(i).rank);
  }
  const auto missing = [&](const char* what, std::int64_t number, const std::set<std::int64_t>& known) {
    return Error(Code::not_found, dump.path().string() + ": there is no " + what + " " +
                                      std::to_string(number) + "; the dump has " +
                                      compare::format_ranges(known));
  };
  if (filter.step && !steps.contains(*filter.step)) return missing("step", *filter.step, steps);
  if (filter.rank && !ranks.contains(*filter.rank)) return missing("rank", *filter.rank, ranks);
  return ok();
}

// No operator is of the module, type and phase that were asked for, in the steps and ranks that were.
Error nothing_selected(const dump::DumpSet& dump, const RunFilter& filter) {
  std::string wanted;
  const auto want = [&](const char* option, const std::string& value) {
    if (!value.empty()) wanted += std::string(wanted.empty() ? "" : " ") + option + " " + value;
  };
  want("--module", filter.module);
  want("--type", filter.type);
  want("--phase", filter.phase);
  std::string message = dump.path().string() + ": no operator passes " + wanted;
  std::set<std::string, std::less<>> types, modules;
  for (std::uint32_t i = 0; i < dump.runs().size(); ++i) {
    const OperatorRun run = dump.runs().without_slots(i);
    types.insert(run.type);
    const std::string module = compare::module_of(run);
    for (std::size_t end = 0; !module.empty() && end != std::string::npos;) {
      end = module.find('/', end + 1);
      if (!modules.contains(std::string_view(module).substr(0, end))) modules.insert(module.substr(0, end));
    }
  }
  const auto hint = [&](const char* what, const std::string& word, const auto& known) {
    if (word.empty() || known.contains(word)) return;
    const std::vector<std::string_view> words(known.begin(), known.end());
    const auto near = find_similar(word, words, 3);
    if (!near.empty()) message.append("; ").append(what).append(" like it: ").append(join_or(near));
  };
  hint("types", filter.type, types);
  hint("modules", filter.module, modules);
  return {Code::not_found, message};
}

void sort_runs(const dump::Runs& runs, const std::string& order, Chosen& chosen) {
  if (order == "name") {
    std::vector<std::pair<std::string, std::uint32_t>> named;
    named.reserve(chosen.size());
    for (const std::uint32_t i : chosen) named.emplace_back(compare::operator_name(runs.without_slots(i)), i);
    std::ranges::stable_sort(named, NaturalLess(), &std::pair<std::string, std::uint32_t>::first);
    std::ranges::transform(named, chosen.begin(), &std::pair<std::string, std::uint32_t>::second);
  } else if (order == "size") {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> sized;
    sized.reserve(chosen.size());
    for (const std::uint32_t i : chosen) {
      std::uint64_t bytes = 0;
      for (const dump::Slot& slot : runs.slots(i)) bytes += slot.stored_bytes();
      sized.emplace_back(bytes, i);
    }
    std::ranges::stable_sort(sized, std::greater(), &std::pair<std::uint64_t, std::uint32_t>::first);
    std::ranges::transform(sized, chosen.begin(), &std::pair<std::uint64_t, std::uint32_t>::second);
  }
}

}  // namespace

void add_filter(CLI::App& app, RunFilter& filter, const std::vector<std::string>& orders, bool shows_op) {
  if (shows_op)
    app.add_option("--op", filter.op, "Only operators with this name, or with this text in their name");
  app.add_option("--module", filter.module, "Only operators of this module and of those within it");
  app.add_option("--type", filter.type, "Only operators of this type");
  app.add_option("--step", filter.step, "Only this step");
  app.add_option("--rank", filter.rank, "Only this rank");
  app.add_option("--phase", filter.phase, "Only this phase: forward, backward or optimizer")
      ->check(CLI::IsMember({"forward", "backward", "optimizer"}));
  app.add_option("--limit", filter.limit, "The maximum number of operators");
  std::vector<std::string_view> words(orders.begin(), orders.end());
  app.add_option("--sort", filter.sort, "Order: " + join_or(words) + "; default: execution")
      ->check(CLI::IsMember(orders));
}

bool selects(const RunFilter& filter, const OperatorRun& run) {
  if (filter.step && run.step != *filter.step) return false;
  if (filter.rank && run.rank != *filter.rank) return false;
  if (!filter.type.empty() && run.type != filter.type) return false;
  if (!filter.phase.empty() &&
      (run.op == nullptr || model::kPhaseNames[static_cast<std::size_t>(run.op->phase)] != filter.phase))
    return false;
  return filter.module.empty() || (compare::module_of(run) + "/").starts_with(filter.module + "/");
}

std::string describe_filter(const RunFilter& filter) {
  std::string text;
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) text.append(text.empty() ? "" : " ").append(option).append(" ").append(value);
  };
  add("--op", filter.op);
  add("--module", filter.module);
  add("--type", filter.type);
  add("--step", filter.step ? std::to_string(*filter.step) : "");
  add("--rank", filter.rank ? std::to_string(*filter.rank) : "");
  add("--phase", filter.phase);
  return text;
}

Result<Chosen> select_names(std::span<const OperatorName> names, const std::string& text) {
  const auto visit = [&](const auto& look) {
    for (std::uint32_t i = 0; i < names.size(); ++i) look(i, names[i]);
  };
  return select(visit, text);
}

Result<Chosen> select_runs(const dump::DumpSet& dump, const RunFilter& filter) {
  const dump::Runs& runs = dump.runs();
  OPDUMP_CHECK_OK(check_places(dump, filter));
  Chosen chosen;
  const bool by_section = filter.module.empty() && filter.type.empty() && filter.phase.empty();
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    const dump::Runs::Section& section = runs.section_of(i);
    if (filter.step && section.step != *filter.step) continue;
    if (filter.rank && section.rank != *filter.rank) continue;
    if (by_section || selects(filter, runs.without_slots(i))) chosen.push_back(i);
  }
  if (chosen.empty() && !runs.empty()) return nothing_selected(dump, filter);
  if (!filter.op.empty() && !chosen.empty()) {
    const auto visit = [&](const auto& look) {
      for (const std::uint32_t i : chosen) {
        const OperatorRun run = runs.without_slots(i);
        look(i, OperatorName{compare::operator_name(run), run.name, run.op != nullptr});
      }
    };
    OPDUMP_TRY(chosen, select(visit, filter.op));
  }
  sort_runs(runs, filter.sort, chosen);
  if (filter.limit && chosen.size() > *filter.limit) chosen.resize(*filter.limit);
  return chosen;
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
