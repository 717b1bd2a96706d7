// `opdump ls DUMP`: what is in a dump.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/key_numbers.h"
#include "base/number_set.h"
#include "base/record_sorter.h"
#include "base/text.h"
#include "cli/arguments.h"
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
  bool json = false;
};

void declare(CLI::App& app, LsArguments& arguments) {
  app.add_option("DUMP", arguments.path, "A dump: its root, any directory below it, or one file")->required();
  add_filter(app, arguments.filter);
  app.add_flag("--json", arguments.json, "Print one JSON record for each operator, then a summary");
  add_expansion_limit(app);
  app.footer(
      "Examples:\n"
      "  opdump ls golden\n"
      "  opdump ls golden --step 0 --op conv\n"
      "  opdump ls golden --json | head -1");
}

struct Totals {
  std::set<std::uint32_t> ranks;
  NumberSet graphs, steps;
  std::uint64_t operators = 0, tensors = 0, statistics = 0, bytes = 0;
};

Result<std::uint64_t> count_different(RecordSorter& records) {
  std::uint64_t count = 0;
  OPDUMP_CHECK_OK(records.visit_different([&](std::string_view) { return ++count, ok(); }));
  return count;
}

Result<Totals> add_up(const dump::DumpSet& dump, const Chosen& chosen) {
  Totals totals;
  RecordSorter operators;
  for (const std::uint32_t i : chosen) {
    const OperatorRun run = dump.runs().without_slots(i);
    totals.ranks.insert(run.rank);
    totals.graphs.add(run.graph_id);
    totals.steps.add(run.step);
    operators.add(compare::operator_name(run));
    for (const dump::Slot& slot : dump.runs().slots(i)) {
      totals.tensors += !slot.file.empty();
      totals.statistics += !slot.statistics.empty();
      totals.bytes += slot.stored_bytes();
    }
  }
  OPDUMP_TRY(totals.operators, count_different(operators));
  return totals;
}

// The operators that records of overflows are about.
class Overflowed {
 public:
  // Errors: io -- there is no room.
  static Result<Overflowed> make(const dump::DumpSet& dump) {
    Overflowed overflowed(dump);
    if (dump.overflow_count() == 0) return overflowed;
    for (std::size_t i = 0; i < dump.runs().size(); ++i) {
      OPDUMP_TRY(std::uint64_t* const number, overflowed.numbers_.at(key_of(dump.runs().without_slots(i))));
      if (*number == 0) *number = i + 1;
    }
    return overflowed;
  }

  // Its name if it is in the dump, else as in the record. Errors: io -- no space.
  Result<std::string> name(const dump::Overflow& overflow) {
    OPDUMP_TRY(const std::uint64_t* const number, numbers_.at(key_of(overflow)));
    if (*number == 0)
      return "task " + std::to_string(overflow.task) + " of stream " + std::to_string(overflow.stream);
    return compare::operator_name(dump_->runs().without_slots(*number - 1));
  }

 private:
  explicit Overflowed(const dump::DumpSet& dump) : dump_(&dump) {}
  template <typename Of>
  static std::uint64_t key_of(const Of& of) {
    std::string key;
    SortKey(key).number(of.rank).signed_number(of.graph_id).signed_number(of.step);
    SortKey(key).number(of.task).signed_number(of.stream);
    return KeyNumbers::key_of(key);
  }
  const dump::DumpSet* dump_;
  KeyNumbers numbers_;  // of the first execution of each task, from 1 on
};

Result<> print_summary(const dump::DumpSet& dump, Totals& totals, std::size_t run_count) {
  OPDUMP_TRY(const std::string steps, compare::format_ranges(totals.steps));
  std::uint64_t graphs = 0;
  OPDUMP_CHECK_OK(totals.graphs.visit_rows([&](std::int64_t first, std::int64_t last) {
    graphs += static_cast<std::uint64_t>(last - first) + 1;
    return ok();
  }));
  std::string text = counted(totals.ranks.size(), "rank") + ", " + counted(graphs, "graph");
  if (!steps.empty())
    text += (steps.find_first_of(",-") == std::string::npos ? ", step " : ", steps ") + steps;
  text += ": " + counted(totals.operators, "operator") + " in " + counted(run_count, "run") + ", " +
          counted(totals.tensors, "tensor") + " (" + format_bytes(totals.bytes) + ")";
  if (totals.statistics > 0) text += ", " + counted(totals.statistics, "row") + " of statistics";
  text += "\n";
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
  OPDUMP_TRY(Overflowed overflowed, Overflowed::make(dump));
  OPDUMP_CHECK_OK(dump.visit_overflows([&](const dump::Overflow& overflow) -> Result<> {
    OPDUMP_TRY(const std::string op, overflowed.name(overflow));
    terminal::print("overflow: step " + std::to_string(overflow.step) + ", " + op + " (status " +
                    std::to_string(overflow.status) + ")\n");
    return ok();
  }));
  for (const dump::Problem& problem : dump.problems())
    terminal::print("problem: " + problem.path.string() + ": " + problem.what + "\n");
  terminal::print("\n");
  return ok();
}

// The operators of one step under a heading; slots are indented once more than operators.
void list_text(const dump::DumpSet& dump, const Chosen& chosen) {
  std::optional<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> previous;
  for (const std::uint32_t i : chosen) {
    const OperatorRun run = dump.runs().without_slots(i);
    const std::tuple frame(run.rank, run.graph_id, run.step);
    if (previous != frame)
      terminal::print("rank " + std::to_string(run.rank) + ", graph " + std::to_string(run.graph_id) +
                      ", step " + std::to_string(run.step) + "\n");
    previous = frame;
    terminal::print("  " + heading(run) + "\n");
    for (const dump::Slot& slot : dump.runs().slots(i)) {
      const SlotFacts facts = slot_facts(slot);
      std::string name = compare::one_line(compare::slot_name(slot));
      name.resize(std::max<std::size_t>(name.size(), 9), ' ');
      terminal::print("    " + name + "  " + describe(slot, facts) + "\n");
    }
  }
}

// Prints `record` without its end, and the beginning of an array in it whose elements, which may be very
// many, are printed one by one. `begin` is the beginning of the record.
void print_open(const Json& record, std::string_view array, std::string_view begin = "{") {
  std::string text = json_text(record);
  text.back() = ',';
  terminal::print_json(std::string(begin) + text.substr(1) + "\"" + std::string(array) + "\":[");
}

Result<> print_numbers(NumberSet& numbers) {
  std::string separator;
  return numbers.visit_rows([&](std::int64_t first, std::int64_t last) {
    for (std::int64_t number = first;; ++number) {
      terminal::print_json(std::exchange(separator, ",") + std::to_string(number));
      if (number == last) return ok();
    }
  });
}

Result<> list_json(const dump::DumpSet& dump, const Chosen& chosen, Totals& totals) {
  for (const std::uint32_t i : chosen) {
    print_open(run_json(dump.runs().without_slots(i)), "slots");
    std::string separator;
    for (const dump::Slot& slot : dump.runs().slots(i))
      terminal::print_json(std::exchange(separator, ",") + json_text(slot_json(slot, slot_facts(slot))));
    terminal::print_json("]}\n");
  }
  Json record;
  record["schema_version"] = 1;
  record["record"] = "summary";
  record["dump"] = dump.path().string();
  record["ranks"] = totals.ranks;
  print_open(record, "graphs");
  OPDUMP_CHECK_OK(print_numbers(totals.graphs));
  terminal::print_json("],\"steps\":[");
  OPDUMP_CHECK_OK(print_numbers(totals.steps));
  record = Json();
  record["operators"] = totals.operators;
  record["runs"] = chosen.size();
  record["tensors"] = totals.tensors;
  record["bytes"] = totals.bytes;
  record["statistics"] = totals.statistics;
  record["states"] = Json::object();
  for (const auto& [rank, status] : dump.statuses()) record["states"][std::to_string(rank)] = status.state;
  print_open(record, "overflows", "],");
  std::string separator;
  OPDUMP_TRY(Overflowed overflowed, Overflowed::make(dump));
  OPDUMP_CHECK_OK(dump.visit_overflows([&](const dump::Overflow& overflow) -> Result<> {
    OPDUMP_TRY(const std::string op, overflowed.name(overflow));
    terminal::print_json(std::exchange(separator, ",") + json_text({{"rank", overflow.rank},
                                                                    {"graph", overflow.graph_id},
                                                                    {"step", overflow.step},
                                                                    {"operator", op},
                                                                    {"status", overflow.status},
                                                                    {"file", overflow.file.string()}}));
    return ok();
  }));
  Json problems = Json::array();
  for (const dump::Problem& problem : dump.problems())
    problems.push_back(problem.path.string() + ": " + problem.what);
  terminal::print_json("],\"problems\":" + json_text(problems) + "}\n");
  return ok();
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
  OPDUMP_TRY(Totals totals, add_up(dump, chosen));
  if (arguments.json) {
    OPDUMP_CHECK_OK(list_json(dump, chosen, totals));
    return static_cast<int>(exit_of(dump));
  }
  OPDUMP_CHECK_OK(print_summary(dump, totals, chosen.size()));
  list_text(dump, chosen);
  return static_cast<int>(exit_of(dump));
}

}  // namespace opdump::cli
