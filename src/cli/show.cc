// `opdump show DUMP OPERATOR`: one operator from all sides.
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "base/text/columns.h"
#include "base/text/natural_order.h"
#include "base/text/text.h"
#include "cli/arguments.h"
#include "cli/graph/graphs.h"
#include "cli/select.h"
#include "cli/show_pair.h"
#include "cli/slot_facts.h"
#include "cli/values.h"
#include "cli/verb.h"
#include "compare/measure/statistics.h"
#include "compare/names.h"
#include "format/graphs/graph_rows.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

using dump::OperatorRun;

// More than this many executions are listed by name instead of shown.
constexpr std::size_t kMaxShown = 10;
constexpr std::size_t kMaxNamed = 100;  // slots

struct ShowArguments {
  std::string path, second, third, slot;
  RunFilter filter;
  bool json = false;
  std::int64_t edge = 6;
};

void declare(CLI::App& app, ShowArguments& arguments) {
  app.add_option("DUMP", arguments.path, "A dump: its root, any directory below it, or one file")->required();
  app.add_option("ACTUAL", arguments.second, "Another dump to show beside it");
  app.add_option("OPERATOR", arguments.third,
                 "An operator's name, or the end or a part of it; default: every operator");
  app.add_option("--op", arguments.filter.op, "The same");
  add_filter(app, arguments.filter, kRunOrders, false);
  app.add_option("--slot", arguments.slot, "Only this slot: input.0, output.1, ...");
  app.add_option("--values", arguments.edge, "Number of first and of last values; default 6")
      ->check(not_negative());
  app.add_flag("--json", arguments.json, "Print one JSON record for each slot");
  add_expansion_limit(app);
  app.footer(
      "Examples:\n"
      "  opdump show golden Default/conv2-Conv2d/convolution-op0\n"
      "  opdump show golden convolution-op0 --step 0 --slot output.0 --values 20\n"
      "  opdump show golden conv2 --json\n"
      "  opdump show golden actual convolution-op0     both sides, and where they differ most\n"
      "  opdump show tensor.npy");
}

// What a slot's data says. Text everywhere: numbers are shown as the dump or NumPy would print them.
struct SlotData {
  compare::Columns statistics;  // of the dump, else computed
  std::string values;           // "[0.1 0.2 ... 0.9]"
};

SlotData slot_data(const dump::Slot& slot, std::int64_t edge, SlotFacts& facts) {
  SlotData data{slot.statistics.columns(), {}};
  if (slot.file.empty()) return data;
  const auto tensor = dump::StoredTensor::read(slot, dump::Alignment::any);
  if (!tensor) {
    facts.trouble = unreadable(tensor.error());
    return data;
  }
  data.values = format_values(tensor->view(), static_cast<std::size_t>(edge));
  if (!data.statistics.empty()) return data;
  auto computed = compare::compute_columns(tensor->view(), slot.dtype, compare::all_columns());
  if (computed) data.statistics = std::move(*computed);
  return data;
}

// Where an input comes from, or who reads an output: a line for each.
std::string describe_links(const dump::Slot& slot, const Graphs::NodeMatch& match) {
  if (match.entry == nullptr) return {};
  std::string text;
  if (slot.side == model::Side::output) {
    for (const std::string& reader : describe_readers(*match.entry, match.node, slot.index))
      text += "    to      " + reader + "\n";
  } else if (const auto* input = format::find_input(match.entry->graph.nodes[match.node], slot.index)) {
    const std::string source = describe_source(*match.entry, input->source);
    if (!source.empty()) text += "    from    " + source + "\n";
  }
  return text;
}

// The calls that led to the operator, innermost first: a line for each.
std::string describe_stack(const OperatorRun& run) {
  std::string text;
  if (run.op == nullptr) return text;
  for (const model::Frame& frame : run.op->stack)
    text += (text.empty() ? "  stack   " : "          ") + compare::one_line(frame.file) + ":" +
            std::to_string(frame.line) +
            (frame.function.empty() ? "" : "  " + compare::one_line(frame.function)) + "\n";
  return text;
}

void print_slot(const dump::Slot& slot, const SlotFacts& facts, const SlotData& data,
                const Graphs::NodeMatch& match) {
  std::string text = "  " + compare::slot_name(slot) + "  " + describe(slot, facts) + "\n";
  text += describe_links(slot, match);
  if (!slot.file.empty())
    text += "    file    " + slot.file + " (" + format_bytes(slot.stored_bytes()) + ")\n";
  std::string line;
  for (const auto& [name, value] : data.statistics) {
    if (!line.empty()) line += ", ";
    line.append(name).append(" ").append(value);
  }
  const auto add = [&](const std::string& whole) {
    text += wrap_words(whole, terminal::terminal_width(), 12) + "\n";
  };
  if (!line.empty()) add("    stats   " + line);
  if (!data.values.empty()) add("    values  " + data.values);
  terminal::print(text);
}

void print_slot_json(const OperatorRun& run, const dump::Slot& slot, const SlotFacts& facts,
                     const SlotData& data, const Graphs::NodeMatch& match) {
  Json record = run_json(run);
  record["record"] = "slot";
  if (run.op != nullptr)
    for (const model::Frame& frame : run.op->stack) record["stack"].push_back(model::format_frame(frame));
  record.update(slot_json(slot, facts));
  if (!data.statistics.empty()) {
    Json statistics = Json::object();
    for (const auto& [name, value] : data.statistics) statistics[name] = number_json(value);
    record["statistics"] = std::move(statistics);
  }
  if (!data.values.empty()) record["values"] = data.values;
  if (match.entry != nullptr && slot.side == model::Side::output)
    record["read_by"] = readers_json(*match.entry, match.node, slot.index);
  else if (match.entry != nullptr)
    if (const auto* input = format::find_input(match.entry->graph.nodes[match.node], slot.index))
      record["from"] = source_json(*match.entry, input->source);
  terminal::print_json(json_line(record));
}

// The slots that the user wants; --slot may mean none.
Result<> show_runs(const dump::DumpSet& dump, const Chosen& chosen, const Graphs& graphs,
                   const ShowArguments& arguments) {
  std::set<std::string> known;  // slots, as many as an error lists
  bool found = false;
  for (const std::uint32_t i : chosen) {
    const OperatorRun run = dump.runs().without_slots(i);
    if (!arguments.json)
      terminal::print(heading(run, terminal::terminal_width()) + "\n  rank " + std::to_string(run.rank) +
                      ", graph " + std::to_string(run.graph_id) + ", step " + std::to_string(run.step) +
                      "\n" + describe_stack(run));
    const Graphs::NodeMatch match = graphs.find(run);
    for (const dump::Slot& slot : dump.runs().slots(i)) {
      const std::string name = compare::slot_name(slot);
      if (known.size() <= kMaxNamed) known.insert(name);
      if (!arguments.slot.empty() && arguments.slot != name) continue;
      found = true;
      SlotFacts facts = slot_facts(slot);
      const SlotData data = slot_data(slot, arguments.edge, facts);
      if (arguments.json)
        print_slot_json(run, slot, facts, data, match);
      else
        print_slot(slot, facts, data, match);
    }
  }
  if (found || arguments.slot.empty()) return ok();
  std::vector<std::string_view> names(known.begin(), known.end());
  if (names.size() > kMaxNamed) names.back() = "others";
  return Error(Code::not_found, "there is no slot '" + arguments.slot + "'; it has " + join_or(names));
}

void list_names(const dump::DumpSet& dump, const Chosen& chosen, const std::string& text) {
  std::set<std::string, NaturalLess> names;
  std::set<std::int64_t> steps;
  for (const std::uint32_t i : chosen) {
    names.insert(compare::operator_name(dump.runs().without_slots(i)));
    steps.insert(dump.runs().section_of(i).step);
  }
  for (const std::string& name : names) terminal::print(name + "\n");
  const std::string what = counted(chosen.size(), "execution") + " of " + counted(names.size(), "operator") +
                           " in steps " + compare::format_ranges(steps);
  terminal::print(text.empty() ? "the dump has " + what + "; name one, or --step\n"
                               : "'" + text + "' means " + what + "; give more of the name, or --step\n");
}

// GOLDEN ACTUAL OPERATOR, GOLDEN ACTUAL --op OPERATOR, or DUMP OPERATOR: what the second word is.
Result<> assign_words(ShowArguments& arguments) {
  if (arguments.second.empty()) return ok();
  std::string& op = arguments.filter.op;
  const bool is_alone = arguments.third.empty();
  std::error_code ignored;  // what cannot be looked at is no path
  if (is_alone && op.empty() && !std::filesystem::exists(arguments.second, ignored)) {
    op = std::exchange(arguments.second, {});
    return ok();
  }
  if (!is_alone && !op.empty()) return Error(Code::usage, "OPERATOR and --op are the same; give one of them");
  if (!is_alone) op = arguments.third;
  return ok();
}

Result<int> show_two(const dump::DumpSet& golden, const Chosen& chosen, const ShowArguments& arguments) {
  OPDUMP_TRY(const dump::DumpSet actual, dump::DumpSet::open(arguments.second, terminal::print_remark));
  remark_unfinished(actual);
  OPDUMP_TRY(const bool differs,
             show_pairs(golden, actual, chosen, {.slot = arguments.slot, .json = arguments.json}));
  return static_cast<int>(differs ? Exit::mismatch : Exit::match);
}

}  // namespace

Result<int> run_show(std::span<const char* const> args) {
  CLI::App app("Shows the tensors of an operator: files, statistics, values; of two dumps what differs.",
               "opdump show");
  ShowArguments arguments;
  declare(app, arguments);
  if (auto done = parse_arguments(app, args)) return *done;
  OPDUMP_CHECK_OK(assign_words(arguments));
  OPDUMP_TRY(const dump::DumpSet dump, dump::DumpSet::open(arguments.path, terminal::print_remark));
  OPDUMP_TRY(const Chosen chosen, select_runs(dump, arguments.filter));
  remark_unfinished(dump);
  if (chosen.size() > kMaxShown && !arguments.filter.limit) {
    list_names(dump, chosen, arguments.filter.op);
    return 0;
  }
  if (!arguments.second.empty()) return show_two(dump, chosen, arguments);
  OPDUMP_TRY(const Graphs graphs, Graphs::read(dump));
  for (const dump::Problem& problem : graphs.problems())
    terminal::print_error(problem.path.string() + ": " + problem.what);
  OPDUMP_CHECK_OK(show_runs(dump, chosen, graphs, arguments));
  return 0;
}

}  // namespace opdump::cli
