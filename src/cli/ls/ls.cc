// `opdump ls DUMP`: what is in a dump.
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text/columns.h"
#include "base/text/text.h"
#include "base/text/text_arena.h"
#include "cli/arguments.h"
#include "cli/ls/ls_nan.h"
#include "cli/ls/ls_tree.h"
#include "cli/ls/ls_wiring.h"
#include "cli/select.h"
#include "cli/slot_facts.h"
#include "cli/verb.h"
#include "compare/names.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

using dump::OperatorRun;

struct LsArguments {
  std::string path;
  RunFilter filter;
  bool json = false, tree = false, flat = false, nan = false, wiring = false;
  std::optional<std::size_t> depth;
};

void declare(CLI::App& app, LsArguments& arguments) {
  app.add_option("DUMP", arguments.path, "A dump: its root, any directory below it, or one file")->required();
  add_filter(app, arguments.filter, kRunOrders);
  CLI::Option* const flat = app.add_flag("--flat", arguments.flat, "List every execution, however many");
  app.add_flag("--tree", arguments.tree,
               "Show modules with totals instead of executions; default for more than " +
                   std::to_string(kMostListed) + " without --limit")
      ->excludes(flat);
  app.add_option("--depth", arguments.depth, "The number of module levels to show; implies --tree")
      ->check(CLI::Range(1, 1000))
      ->excludes(flat);
  app.add_flag("--nan", arguments.nan, "Name the operator that made the first NaN or infinity");
  app.add_flag("--wiring", arguments.wiring,
               "Show who made what operators read, and who reads what they make");
  app.add_flag("--json", arguments.json, "Print one JSON record for each operator, then a summary");
  add_expansion_limit(app);
  app.footer(
      "Examples:\n"
      "  opdump ls golden\n"
      "  opdump ls golden --step 0 --op conv\n"
      "  opdump ls golden --sort size --limit 10\n"
      "  opdump ls golden --nan\n"
      "  opdump ls golden --op addmm-op0 --wiring\n"
      "  opdump ls golden --json | head -1");
}

struct Totals {
  std::set<std::uint32_t> ranks;
  std::set<std::int64_t> graphs, steps;
  std::uint64_t operators = 0, tensors = 0, statistics = 0, bytes = 0;
};

Totals add_up(const dump::DumpSet& dump, const Chosen& chosen) {
  Totals totals;
  InternedTexts operators;
  for (const std::uint32_t i : chosen) {
    const OperatorRun run = dump.runs().without_slots(i);
    totals.ranks.insert(run.rank);
    totals.graphs.insert(run.graph_id);
    totals.steps.insert(run.step);
    operators.add(compare::operator_name(run));
    for (const dump::Slot& slot : dump.runs().slots(i)) {
      totals.tensors += !slot.file.empty();
      totals.statistics += !slot.statistics.empty();
      totals.bytes += slot.stored_bytes();
    }
  }
  totals.operators = operators.size();
  return totals;
}

// The operators that records of overflows are about.
class Overflowed {
 public:
  explicit Overflowed(const dump::DumpSet& dump) : runs_(dump.runs()) {
    for (const dump::Overflow& overflow : dump.overflows()) first_runs_.try_emplace(key_of(overflow));
    for (std::size_t i = 0; i < runs_.size() && !first_runs_.empty(); ++i) {
      const auto found = first_runs_.find(key_of(runs_.without_slots(i)));
      if (found != first_runs_.end() && !found->second) found->second = i;
    }
  }

  // Its name if it is in the dump, else as in the record.
  std::string name(const dump::Overflow& overflow) const {
    const std::optional<std::size_t>& run = first_runs_.at(key_of(overflow));
    if (run) return compare::operator_name(runs_.without_slots(*run));
    return "task " + std::to_string(overflow.task) + " of stream " + std::to_string(overflow.stream);
  }

 private:
  using Key = std::tuple<std::uint32_t, std::int64_t, std::int64_t, std::uint64_t, std::int64_t>;
  template <typename Of>
  static Key key_of(const Of& of) {
    return {of.rank, of.graph_id, of.step, of.task, of.stream};
  }
  const dump::Runs& runs_;
  std::map<Key, std::optional<std::size_t>> first_runs_;  // of the tasks that overflowed
};

void print_summary(const dump::DumpSet& dump, const Totals& totals, std::size_t run_count) {
  const std::string steps = compare::format_ranges(totals.steps);
  std::string text = counted(totals.ranks.size(), "rank") + ", " + counted(totals.graphs.size(), "graph");
  if (!steps.empty())
    text += (steps.find_first_of(",-") == std::string::npos ? ", step " : ", steps ") + steps;
  text += ": " + counted(totals.operators, "operator") + " in " + counted(run_count, "run") + ", " +
          counted(totals.tensors, "tensor") + " (" + format_bytes(totals.bytes) + ")";
  if (totals.statistics > 0) text += ", " + counted(totals.statistics, "row") + " of statistics";
  text = wrap_words(text, terminal::terminal_width(), 2) + "\n";
  for (const auto& [rank, status] : dump.statuses()) {
    text += "rank " + std::to_string(rank) + ": recording ";
    text +=
        status.state == "recording" ? "is unfinished: it was interrupted or is still running" : status.state;
    if (!status.runtime.empty()) text += ", " + status.runtime;
    if (!status.opdump_version.empty()) text += ", opdump " + status.opdump_version;
    text += "\n";
    if (status.tail_step >= 0)
      text += "  the operators of step " + std::to_string(status.tail_step) + " ran after the last step\n";
    if (status.cut_step >= 0)
      text += "  the program was interrupted in step " + std::to_string(status.cut_step) + "\n";
    for (const dump::Loss& loss : status.losses)
      text += "  missing: " + std::to_string(loss.count) + " x " + loss.what + " (" + loss.reason + ")\n";
  }
  terminal::print(text);
  const Overflowed overflowed(dump);
  for (const dump::Overflow& overflow : dump.overflows())
    terminal::print("overflow: step " + std::to_string(overflow.step) + ", " + overflowed.name(overflow) +
                    " (status " + std::to_string(overflow.status) + ")\n");
  for (const dump::Problem& problem : dump.problems())
    terminal::print("problem: " + problem.path.string() + ": " + problem.what + "\n");
  terminal::print("\n");
}

// The operators of one step under a heading; slots are indented once more than operators.
void list_text(const dump::DumpSet& dump, const Chosen& chosen, const WiringLists* wiring) {
  std::optional<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> previous;
  const std::size_t width = terminal::terminal_width();
  for (const std::uint32_t i : chosen) {
    const OperatorRun run = dump.runs().without_slots(i);
    const std::tuple frame(run.rank, run.graph_id, run.step);
    if (previous != frame)
      terminal::print("rank " + std::to_string(run.rank) + ", graph " + std::to_string(run.graph_id) +
                      ", step " + std::to_string(run.step) + "\n");
    previous = frame;
    terminal::print("  " + heading(run, width - std::min<std::size_t>(width, 2)) + "\n");
    for (const dump::Slot& slot : dump.runs().slots(i)) {
      const SlotFacts facts = slot_facts(slot);
      std::string name = compare::one_line(compare::slot_name(slot));
      name.resize(std::max<std::size_t>(name.size(), 9), ' ');
      terminal::print("    " + name + "  " + describe(slot, facts) + "\n");
      if (wiring != nullptr)
        for (const std::string& line : wiring->describe(i, slot)) terminal::print("      " + line + "\n");
    }
  }
}

void list_json(const dump::DumpSet& dump, const Chosen& chosen, const Totals& totals,
               const WiringLists* wiring) {
  for (const std::uint32_t i : chosen) {
    Json record = run_json(dump.runs().without_slots(i));
    record["slots"] = Json::array();
    for (const dump::Slot& slot : dump.runs().slots(i)) {
      record["slots"].push_back(slot_json(slot, slot_facts(slot)));
      if (wiring != nullptr) wiring->add_to(record["slots"].back(), i, slot);
    }
    terminal::print_json(json_line(record));
  }
  Json record;
  record["schema_version"] = 1;
  record["record"] = "summary";
  record["dump"] = dump.path().string();
  record["ranks"] = totals.ranks;
  record["graphs"] = totals.graphs;
  record["steps"] = totals.steps;
  record["operators"] = totals.operators;
  record["runs"] = chosen.size();
  record["tensors"] = totals.tensors;
  record["bytes"] = totals.bytes;
  record["statistics"] = totals.statistics;
  record["states"] = Json::object();
  for (const auto& [rank, status] : dump.statuses()) record["states"][std::to_string(rank)] = status.state;
  record["overflows"] = Json::array();
  const Overflowed overflowed(dump);
  for (const dump::Overflow& overflow : dump.overflows())
    record["overflows"].push_back({{"rank", overflow.rank},
                                   {"graph", overflow.graph_id},
                                   {"step", overflow.step},
                                   {"operator", overflowed.name(overflow)},
                                   {"status", overflow.status},
                                   {"file", overflow.file.string()}});
  record["problems"] = Json::array();
  for (const dump::Problem& problem : dump.problems())
    record["problems"].push_back(problem.path.string() + ": " + problem.what);
  terminal::print_json(json_line(record));
}

// What was not recorded to its end is no whole answer.
Exit exit_of(const dump::DumpSet& dump) {
  const bool is_cut = std::ranges::any_of(
      dump.statuses(), [](const auto& status) { return status.second.state == "recording"; });
  return is_cut ? Exit::incomplete : Exit::match;
}

}  // namespace

Result<int> run_ls(std::span<const char* const> args) {
  CLI::App app("Lists the operators of a dump in order of execution, with their tensors.", "opdump ls");
  LsArguments arguments;
  declare(app, arguments);
  if (auto done = parse_arguments(app, args)) return *done;
  OPDUMP_TRY(const dump::DumpSet dump, dump::DumpSet::open(arguments.path, terminal::print_remark));
  OPDUMP_TRY(const Chosen chosen, select_runs(dump, arguments.filter));
  if (arguments.nan) {
    OPDUMP_TRY(const bool looked, print_first_nan(dump, chosen, arguments.json));
    if (!looked) return Error(Code::not_found, dump.path().string() + ": no selected tensor has data");
    return static_cast<int>(exit_of(dump));
  }
  std::optional<WiringLists> wiring;
  if (arguments.wiring) {
    if (!dump.runs().have_wirings())
      return Error(Code::not_found, dump.path().string() +
                                        ": does not say who made what; another tool or an "
                                        "older opdump recorded it");
    wiring.emplace(dump, chosen);
  }
  const WiringLists* const shown = wiring ? &*wiring : nullptr;
  const Totals totals = add_up(dump, chosen);
  if (arguments.json) {
    list_json(dump, chosen, totals, shown);
  } else {
    print_summary(dump, totals, chosen.size());
    const bool is_long =
        chosen.size() > kMostListed && !arguments.filter.limit && !arguments.flat && !arguments.wiring;
    if (arguments.tree || arguments.depth || is_long)
      print_tree(dump, chosen, arguments.depth);
    else
      list_text(dump, chosen, shown);
  }
  return static_cast<int>(exit_of(dump));
}

}  // namespace opdump::cli
