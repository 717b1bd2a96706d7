// `opdump ir DUMP`: the graphs of a dump, and the operators that a line of the program made.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <tuple>

#include "base/text/text.h"
#include "cli/arguments.h"
#include "cli/graph/graphs.h"
#include "cli/select.h"
#include "cli/slot_facts.h"
#include "cli/source_lines.h"
#include "cli/verb.h"
#include "compare/names.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

constexpr std::size_t kSlotWidth = 9;

struct IrArguments {
  std::string path, graph, op, source;
  std::optional<std::int64_t> step;
  bool json = false;
};

void declare(CLI::App& app, IrArguments& arguments) {
  app.add_option("DUMP", arguments.path, "A dump: its root or any directory below it; or an .ir or .pb file")
      ->required();
  app.add_option("--graph", arguments.graph,
                 "An .ir or .pb file instead of the dump's graphs, such as trace_code_graph_N of "
                 "MS_DEV_SAVE_GRAPHS");
  app.add_option("--source", arguments.source,
                 "Operators of a source line: train.py:175, train.py:170-180, train.py");
  app.add_option("--op", arguments.op, "Operators with this name, or with this text in their name");
  app.add_option("--step", arguments.step, "Only graphs that this step executed, and its files");
  app.add_flag("--json", arguments.json, "Print one JSON record for each graph or operator");
  app.footer(
      "Examples:\n"
      "  opdump ir golden\n"
      "  opdump ir golden --source train.py:175\n"
      "  opdump ir golden --op conv1-Conv2d/convolution-op0 --json\n"
      "  opdump ir golden/rank_0/graphs/ms_output_trace_code_graph_0.ir --source train.py\n"
      "  opdump ir dump_of_O2 --graph trace_code_graph_0127 --source train.py:175");
}

std::string graph_title(const GraphEntry& entry) {
  std::string text = entry.rank ? "rank " + std::to_string(*entry.rank) + ", " : "";
  text += "graph " + std::to_string(entry.id);
  if (entry.graph.name != "kernel_graph" + std::to_string(entry.id) && !entry.graph.name.empty())
    text += " @" + entry.graph.name;
  return text;
}

// The keys that every record begins with.
Json begin_record(std::string_view kind, const GraphEntry& entry) {
  Json record{{"schema_version", 1}, {"record", kind}};
  if (entry.rank) record["rank"] = *entry.rank;
  record["graph"] = entry.id;
  return record;
}

using Entries = std::vector<const GraphEntry*>;

void list_graphs(const Entries& entries, bool json) {
  for (const GraphEntry* chosen : entries) {
    const GraphEntry& entry = *chosen;
    const model::Graph& graph = entry.graph;
    if (!json) {
      std::string text = graph_title(entry) + ": " + counted(graph.nodes.size(), "operator") + ", " +
                         counted(graph.parameters.size(), "parameter");
      if (const std::string steps = compare::format_ranges({entry.history.begin(), entry.history.end()});
          !steps.empty())
        text += (steps.find_first_of(",-") == std::string::npos ? ", executed in step "
                                                                : ", executed in steps ") +
                steps;
      terminal::print(text + "  (" + entry.path.string() + ")\n");
      continue;
    }
    Json record = begin_record("graph", entry);
    record["name"] = graph.name;
    record["file"] = entry.path.string();
    record["operators"] = graph.nodes.size();
    record["parameters"] = graph.parameters.size();
    record["steps"] = std::set(entry.history.begin(), entry.history.end());
    terminal::print_json(json_line(record));
  }
}

// The executions of each node in a dump, in order of steps.
using RunsByNode = std::map<std::pair<const GraphEntry*, std::size_t>, std::vector<std::uint32_t>>;

RunsByNode find_runs(const Graphs& graphs, const dump::DumpSet& dump, std::optional<std::int64_t> step) {
  RunsByNode runs;
  for (std::uint32_t i = 0; i < dump.runs().size(); ++i) {
    if (step && dump.runs().section_of(i).step != *step) continue;
    if (const Graphs::NodeMatch match = graphs.find(dump.runs().without_slots(i)); match.entry != nullptr)
      runs[{match.entry, match.node}].push_back(i);
  }
  return runs;
}

// An input or output of a node, with what the dump has of it.
struct SlotView {
  model::Side side;
  std::uint32_t index;
  const model::TensorType* type;
  std::vector<std::pair<std::int64_t, std::filesystem::path>> files;  // by step
};

SlotView slot_view(model::Side side, std::uint32_t index, const model::TensorType& type,
                   std::span<const dump::OperatorRun> runs) {
  SlotView view{side, index, &type, {}};
  for (const dump::OperatorRun& run : runs)
    for (const dump::Slot& slot : run.slots)
      if (slot.side == side && slot.index == index && !slot.file.empty())
        view.files.emplace_back(run.step, slot.file);
  return view;
}

std::vector<SlotView> slot_views(const model::Node& node, std::span<const dump::OperatorRun> runs) {
  std::vector<SlotView> views;
  for (const auto& input : node.inputs)
    views.push_back(slot_view(model::Side::input, input.index, input.type, runs));
  for (const auto& output : node.outputs)
    views.push_back(slot_view(model::Side::output, output.index, output.type, runs));
  return views;
}

std::string slot_name(const SlotView& slot) {
  return std::string(model::kSideNames[static_cast<std::size_t>(slot.side)]) + "." +
         std::to_string(slot.index);
}

const model::Source& source_of(const model::Node& node, std::uint32_t index) {
  return std::ranges::find(node.inputs, index, &model::Node::Input::index)->source;
}

std::string format_type(const model::TensorType& type) {
  if (type.dtype == model::DType::undefined) return "unknown";
  return std::string(model::dtype_info(type.dtype).name) + " " + model::format_shape(type.shape);
}

void print_slot(const GraphEntry& entry, std::size_t node, const SlotView& slot) {
  std::string text = slot_name(slot);
  text.resize(std::max(text.size(), kSlotWidth), ' ');
  text = "    " + text + "  " + format_type(*slot.type);
  if (slot.side == model::Side::input) {
    const std::string source = describe_source(entry, source_of(entry.graph.nodes[node], slot.index));
    if (!source.empty()) text += "  <- " + source;
  } else if (const auto readers = describe_readers(entry, node, slot.index); !readers.empty()) {
    text += "  -> " + readers[0];
    if (readers.size() > 1) text += " and " + std::to_string(readers.size() - 1) + " more";
  }
  text += "\n";
  if (!slot.files.empty()) {
    text += "      " + slot.files[0].second.string();
    if (slot.files.size() > 1) text += "  (and " + std::to_string(slot.files.size() - 1) + " more)";
    text += "\n";
  }
  terminal::print(text);
}

std::string format_span(const model::SourceSpan& span) {
  std::string text = span.file + ":" + std::to_string(span.first_line);
  if (span.last_line != span.first_line) text += "-" + std::to_string(span.last_line);
  return text;
}

void print_operator(const GraphEntry& entry, std::size_t index, const std::vector<SlotView>& slots) {
  const model::Node& node = entry.graph.nodes[index];
  terminal::print("  " + node.op.name + "  (" + node.op.type + ")\n");
  for (const model::SourceSpan& span : node.source)
    terminal::print("    " + format_span(span) + "  " + std::string(trim(span.code)) + "\n");
  for (const SlotView& slot : slots) print_slot(entry, index, slot);
}

Json slot_record(const GraphEntry& entry, std::size_t node, const SlotView& slot) {
  Json record{{"slot", slot_name(slot)}};
  if (slot.type->dtype != model::DType::undefined) {
    record["dtype"] = model::dtype_info(slot.type->dtype).name;
    record["shape"] = std::vector(slot.type->shape.dims().begin(), slot.type->shape.dims().end());
  }
  if (slot.side == model::Side::input)
    record["from"] = source_json(entry, source_of(entry.graph.nodes[node], slot.index));
  else
    record["read_by"] = readers_json(entry, node, slot.index);
  record["files"] = Json::array();
  for (const auto& [step, file] : slot.files)
    record["files"].push_back({{"step", step}, {"file", file.string()}});
  return record;
}

void print_operator_json(const GraphEntry& entry, std::size_t index, const std::vector<SlotView>& slots) {
  const model::Node& node = entry.graph.nodes[index];
  Json record = begin_record("operator", entry);
  record["operator"] = node.op.name;
  record["type"] = node.op.type;
  if (const std::string source = model::format_source(node.op); !source.empty()) record["source"] = source;
  record["lines"] = Json::array();
  for (const model::SourceSpan& span : node.source)
    record["lines"].push_back(
        {{"file", span.file}, {"first", span.first_line}, {"last", span.last_line}, {"code", span.code}});
  record["slots"] = Json::array();
  for (const SlotView& slot : slots) record["slots"].push_back(slot_record(entry, index, slot));
  terminal::print_json(json_line(record));
}

using ChosenEntries = std::vector<std::pair<const GraphEntry*, std::size_t>>;

Error no_line(const ChosenEntries& all, const SourceLines& lines, const std::string& text) {
  std::set<std::int64_t> known;
  std::set<std::string> files;
  for (const auto& [entry, node] : all) {
    const model::Node& made = entry->graph.nodes[node];
    if (const int line = line_in(made, lines); line > 0) known.insert(line);
    if (!made.op.source_file.empty()) files.insert(made.op.source_file);
  }
  const std::string message = "no operator belongs to " + text;
  if (!known.empty())
    return Error(Code::not_found,
                 message + "; lines of " + lines.file + " with operators: " + compare::format_ranges(known));
  const std::vector<std::string_view> words(files.begin(), files.end());
  if (words.empty()) return Error(Code::not_found, message + "; the graphs name no source files");
  return Error(Code::not_found, message + "; operators belong to " +
                                    join_or(std::span(words).first(std::min<std::size_t>(words.size(), 5))));
}

// Whether the step of the user's choice executed the graph.
bool is_executed(const GraphEntry& entry, const RunsByNode& runs, std::optional<std::int64_t> step) {
  if (!step || std::ranges::find(entry.history, *step) != entry.history.end()) return true;
  const auto first = runs.lower_bound({&entry, 0});
  return first != runs.end() && first->first.first == &entry;
}

Result<Entries> choose_graphs(const Graphs& graphs, const RunsByNode& runs, const IrArguments& arguments) {
  Entries entries;
  for (const GraphEntry& entry : graphs.entries())
    if (!entry.rank || is_executed(entry, runs, arguments.step)) entries.push_back(&entry);
  if (entries.empty())
    return Error(Code::not_found, arguments.path + ": step " + std::to_string(*arguments.step) +
                                      " executed none of the graphs");
  return entries;
}

Result<ChosenEntries> choose_by_source(const ChosenEntries& all, const std::string& source) {
  OPDUMP_TRY(const SourceLines lines, parse_source_lines(source));
  ChosenEntries made;
  for (const auto& [entry, node] : all)
    if (made_by(entry->graph.nodes[node], lines)) made.emplace_back(entry, node);
  if (made.empty()) return no_line(all, lines, source);
  return made;
}

Result<ChosenEntries> choose_by_name(const ChosenEntries& all, const std::string& text) {
  std::vector<std::string> sanitised;
  for (const auto& [entry, node] : all)
    sanitised.push_back(model::sanitise_name(entry->graph.nodes[node].op.name));
  std::vector<OperatorName> names;
  for (std::size_t i = 0; i < all.size(); ++i)
    names.push_back({all[i].first->graph.nodes[all[i].second].op.name, sanitised[i], true});
  OPDUMP_TRY(const auto found, select_names(names, text));
  ChosenEntries named;
  for (const std::size_t index : found) named.push_back(all[index]);
  return named;
}

Result<ChosenEntries> choose_operators(const Entries& entries, const IrArguments& arguments) {
  ChosenEntries chosen;
  for (const GraphEntry* entry : entries)
    for (std::size_t i = 0; i < entry->graph.nodes.size(); ++i) chosen.emplace_back(entry, i);
  if (!arguments.source.empty()) {
    OPDUMP_TRY(chosen, choose_by_source(chosen, arguments.source));
  }
  if (!arguments.op.empty()) {
    OPDUMP_TRY(chosen, choose_by_name(chosen, arguments.op));
  }
  return chosen;
}

void list_operators(const ChosenEntries& chosen, const dump::DumpSet* dump, const RunsByNode& runs,
                    bool json) {
  const GraphEntry* previous = nullptr;
  for (const auto& [entry, node] : chosen) {
    std::vector<dump::OperatorRun> executions;
    if (const auto executed = runs.find({entry, node}); executed != runs.end())
      for (const std::uint32_t i : executed->second) executions.push_back(dump->runs()[i]);
    const auto slots = slot_views(entry->graph.nodes[node], executions);
    if (json) {
      print_operator_json(*entry, node, slots);
      continue;
    }
    if (entry != previous) terminal::print(graph_title(*entry) + "\n");
    previous = entry;
    print_operator(*entry, node, slots);
  }
}

Result<int> answer(const Graphs& graphs, const dump::DumpSet* dump, const IrArguments& arguments) {
  for (const dump::Problem& problem : graphs.problems())
    terminal::print_error(problem.path.string() + ": " + problem.what);
  if (graphs.entries().empty())
    return Error(Code::not_found,
                 arguments.path +
                     ": no graphs; expected rank_N/graphs/ms_output_trace_code_graph_*.ir, or --graph FILE");
  RunsByNode runs;
  if (dump != nullptr) runs = find_runs(graphs, *dump, arguments.step);
  OPDUMP_TRY(const Entries entries, choose_graphs(graphs, runs, arguments));
  if (arguments.op.empty() && arguments.source.empty()) {
    list_graphs(entries, arguments.json);
    return 0;
  }
  OPDUMP_TRY(const ChosenEntries chosen, choose_operators(entries, arguments));
  list_operators(chosen, dump, runs, arguments.json);
  return 0;
}

}  // namespace

Result<int> run_ir(std::span<const char* const> args) {
  CLI::App app("Lists the graphs of a dump, or the operators of a source line.", "opdump ir");
  IrArguments arguments;
  declare(app, arguments);
  if (auto done = parse_arguments(app, args)) return *done;
  std::error_code failed;
  if (std::filesystem::is_regular_file(arguments.path, failed)) {
    if (!arguments.graph.empty())
      return Error(Code::usage, "--graph is for a dump, and " + arguments.path + " is a file");
    OPDUMP_TRY(const Graphs graphs, Graphs::read_file(arguments.path));
    return answer(graphs, nullptr, arguments);
  }
  if (!arguments.graph.empty() && !std::filesystem::is_regular_file(arguments.graph, failed))
    return Error(Code::not_found, arguments.graph + ": no such file");
  OPDUMP_TRY(const dump::DumpSet dump, dump::DumpSet::open(arguments.path, terminal::print_remark));
  OPDUMP_TRY(const Graphs graphs,
             arguments.graph.empty() ? Graphs::read(dump) : Graphs::read_file(arguments.graph));
  return answer(graphs, &dump, arguments);
}

}  // namespace opdump::cli
