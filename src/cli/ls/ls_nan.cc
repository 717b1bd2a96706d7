#include "cli/ls/ls_nan.h"

#include <string>

#include "base/text/text.h"
#include "cli/graph/graphs.h"
#include "cli/slot_facts.h"
#include "compare/facts/unfinished.h"
#include "compare/measure/not_finite.h"
#include "compare/wiring/content.h"
#include "format/graphs/graph_rows.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

using compare::NotFinite;
using compare::NotFiniteSearch;
using NotFiniteTensor = NotFiniteSearch::NotFiniteTensor;

struct Looked {
  NotFiniteSearch search;
  std::uint64_t known = 0, unknown = 0;  // tensors

  bool has_any() const { return search.nan() || search.made_infinity() || search.outer_infinity(); }
};

void look(const dump::DumpSet& dump, std::uint32_t run, Looked& looked) {
  looked.search.begin(run, compare::asks_for_infinity(dump.runs().form_of(run).get()));
  for (const dump::Slot& slot : dump.runs().slots(run)) {
    const auto found = compare::count_not_finite(slot);
    ++(found ? looked.known : looked.unknown);
    looked.search.take(slot.side, slot.index, found, compare::element_count_of(slot) == 1);
  }
  looked.search.end();
}

// Where the tensor of an input comes from, as the graph has it.
std::string find_source(const Graphs& graphs, const dump::OperatorRun& run, const NotFiniteTensor& finding) {
  if (finding.is_made_here()) return {};
  const Graphs::NodeMatch match = graphs.find(run);
  if (match.entry == nullptr) return {};
  const auto* input = format::find_input(match.entry->graph.nodes[match.node], finding.index);
  return input == nullptr ? std::string() : describe_source(*match.entry, input->source);
}

void print_finding(const dump::DumpSet& dump, const Graphs& graphs, const NotFiniteTensor& finding,
                   bool is_nan, bool json) {
  const dump::OperatorRun run = dump.runs()[finding.run];
  const std::string slot = std::string(model::kSideNames[static_cast<std::size_t>(finding.side)]) + "." +
                           std::to_string(finding.index);
  const std::string source = find_source(graphs, run, finding);
  const std::string why = is_nan && finding.is_made_here() ? compare::explain_nan(run) : std::string();
  if (json) {
    Json record = run_json(run);
    record["record"] = is_nan ? "first_nan" : "first_infinity";
    record["slot"] = slot;
    record["nan_count"] = finding.found.is_counted ? Json(finding.found.nan) : Json();
    record["inf_count"] = finding.found.is_counted ? Json(finding.found.inf) : Json();
    record["made_here"] = finding.is_made_here();
    if (!source.empty()) record["from"] = source;
    if (!why.empty()) record["why"] = why;
    return terminal::print_json(json_line(record));
  }
  std::string text = std::string(is_nan ? "first NaN: " : "first infinity: ") + heading(run) + "\n  rank " +
                     std::to_string(run.rank) + ", step " + std::to_string(run.step) + ": " + slot + " has " +
                     compare::describe(finding.found) + "; ";
  if (finding.is_made_here())
    text += compare::describe_making(finding);
  else
    text += source.empty() ? "no recorded operator made them" : "they come from " + source;
  if (!why.empty()) text += "\n  " + why;
  terminal::print(text + "\n");
}

void print_saturated(const dump::DumpSet& dump, const Chosen& chosen, bool json) {
  for (const std::uint32_t i : chosen) {
    const dump::OperatorRun run = dump.runs()[i];
    const dump::Slot* const slot = compare::saturated_output(run);
    if (slot == nullptr) continue;
    if (json) {
      Json record = run_json(run);
      record["record"] = "first_saturated";
      record["slot"] = "output." + std::to_string(slot->index);
      return terminal::print_json(json_line(record));
    }
    return terminal::print("first saturated result: " + heading(run) + "\n  rank " +
                           std::to_string(run.rank) + ", step " + std::to_string(run.step) + ": " +
                           compare::describe_saturated(*slot) + "\n");
  }
}

void print_nothing(const dump::DumpSet& dump, const Looked& looked) {
  std::string text = looked.has_any() ? "no NaN" : "no NaN and no infinity";
  if (!looked.has_any() && looked.search.has_asked()) text += " but those that arguments ask for,";
  text += " in " + counted(looked.known, "tensor");
  if (looked.unknown > 0) text += "; of " + std::to_string(looked.unknown) + " nothing is known";
  if (const std::string steps = compare::describe_unrecorded_steps(dump); !steps.empty())
    text += "; " + steps;
  terminal::print(text + "\n");
}

}  // namespace

Result<bool> print_first_nan(const dump::DumpSet& dump, const Chosen& chosen, bool json) {
  Looked looked;
  const NotFiniteSearch& search = looked.search;
  for (const std::uint32_t run : chosen) {
    look(dump, run, looked);
    if (search.nan()) break;
  }
  OPDUMP_TRY(const Graphs graphs, Graphs::read(dump));
  // An infinity from outside, a mask say, matters only where nothing else is found.
  const auto& infinity =
      search.made_infinity() || search.nan() ? search.made_infinity() : search.outer_infinity();
  if (infinity && (!search.nan() || infinity->run != search.nan()->run))
    print_finding(dump, graphs, *infinity, false, json);
  if (search.nan()) print_finding(dump, graphs, *search.nan(), true, json);
  if (!looked.has_any()) print_saturated(dump, chosen, json);
  if (!json && !search.nan() && looked.known > 0) print_nothing(dump, looked);
  return looked.known > 0;
}

}  // namespace opdump::cli
