#include "cli/ls/ls_nan.h"

#include <cstdlib>
#include <optional>
#include <string>

#include "base/text/text.h"
#include "cli/graph/graphs.h"
#include "cli/slot_facts.h"
#include "compare/measure/statistics.h"
#include "compare/names.h"
#include "format/graphs/graph_rows.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

struct NotFinite {
  std::uint64_t nan = 0, inf = 0;
};

// Of the recorded statistics if they count both, else of the elements; nothing if there are none.
std::optional<NotFinite> count_not_finite(const dump::Slot& slot) {
  constexpr std::string_view kNan = "NaN Count", kLess = "Negative Inf Count", kMore = "Positive Inf Count";
  const auto add_up = [&](const compare::Columns& columns) -> std::optional<NotFinite> {
    NotFinite found;
    int known = 0;
    for (const auto& [name, text] : columns) {
      if (name != kNan && name != kLess && name != kMore) continue;
      ++known;
      (name == kNan ? found.nan : found.inf) += parse_uint64(text).value_or(0);
    }
    if (known == 3) return found;
    return std::nullopt;
  };
  const compare::Columns recorded = slot.statistics.columns();
  if (const auto counted = add_up(recorded)) return counted;
  if (!slot.file.empty()) {
    const auto tensor = dump::StoredTensor::read(slot, dump::Alignment::any);
    if (!tensor) return std::nullopt;
    const compare::Columns wanted{
        {std::string(kNan), ""}, {std::string(kLess), ""}, {std::string(kMore), ""}};
    const auto computed = compare::compute_columns(tensor->view(), slot.dtype, wanted);
    return computed ? add_up(*computed) : std::nullopt;
  }
  // Extremes are NaN if an element is, and infinite if one is.
  std::optional<NotFinite> found;
  for (const auto& [name, text] : recorded) {
    if (name != "Max Value" && name != "Min Value") continue;
    if (!found) found.emplace();
    const std::string lower = to_lower(text);
    found->nan += lower.find("nan") != std::string::npos;
    found->inf += lower.find("inf") != std::string::npos;
  }
  return found;
}

// The first tensor of an execution that is not finite; inputs come first.
struct NotFiniteSlot {
  std::uint32_t run = 0;
  dump::Slot slot;
  NotFinite counts;
};

class Search {
 public:
  explicit Search(const dump::DumpSet& dump) : dump_(dump) {}

  void look(std::uint32_t run) {
    std::optional<NotFiniteSlot> found_nan, found_inf;
    for (const dump::Slot& slot : dump_.runs().slots(run)) {
      const auto counts = count_not_finite(slot);
      ++(counts ? looked_ : unknown_);
      if (!counts) continue;
      const auto is_better = [&](const std::optional<NotFiniteSlot>& found) {
        return !found || (slot.side == model::Side::input && found->slot.side == model::Side::output);
      };
      if (counts->nan > 0 && is_better(found_nan)) found_nan = NotFiniteSlot{run, slot, *counts};
      if (counts->inf > 0 && is_better(found_inf)) found_inf = NotFiniteSlot{run, slot, *counts};
    }
    if (!nan_) nan_ = found_nan;
    if (!inf_) inf_ = found_inf;
  }

  const std::optional<NotFiniteSlot>& nan() const { return nan_; }
  const std::optional<NotFiniteSlot>& inf() const { return inf_; }
  std::uint64_t looked() const { return looked_; }
  std::uint64_t unknown() const { return unknown_; }

 private:
  const dump::DumpSet& dump_;
  std::optional<NotFiniteSlot> nan_, inf_;
  std::uint64_t looked_ = 0, unknown_ = 0;
};

void print_finding(const dump::DumpSet& dump, const Graphs& graphs, const NotFiniteSlot& finding, bool is_nan,
                   bool json) {
  const dump::OperatorRun run = dump.runs().without_slots(finding.run);
  const bool is_made_here = finding.slot.side == model::Side::output;
  std::string source;
  if (!is_made_here)
    if (const Graphs::NodeMatch match = graphs.find(run); match.entry != nullptr)
      if (const auto* input = format::find_input(match.entry->graph.nodes[match.node], finding.slot.index))
        source = describe_source(*match.entry, input->source);
  if (json) {
    Json record = run_json(run);
    record["record"] = is_nan ? "first_nan" : "first_infinity";
    record["slot"] = compare::slot_name(finding.slot);
    record["nan_count"] = finding.counts.nan;
    record["inf_count"] = finding.counts.inf;
    record["made_here"] = is_made_here;
    if (!source.empty()) record["from"] = source;
    return terminal::print_json(json_line(record));
  }
  std::string text = std::string(is_nan ? "first NaN: " : "first infinity: ") + heading(run) + "\n  rank " +
                     std::to_string(run.rank) + ", step " + std::to_string(run.step) + ": " +
                     compare::slot_name(finding.slot) + " has " + std::to_string(finding.counts.nan) +
                     " NaN and " + std::to_string(finding.counts.inf) + " infinities; ";
  if (is_made_here)
    text += "its inputs are finite: it made them";
  else
    text += source.empty() ? "no recorded operator made them" : "they come from " + source;
  terminal::print(text + "\n");
}

}  // namespace

Result<bool> print_first_nan(const dump::DumpSet& dump, const Chosen& chosen, bool json) {
  Search search(dump);
  for (const std::uint32_t run : chosen) {
    search.look(run);
    if (search.nan()) break;
  }
  OPDUMP_TRY(const Graphs graphs, Graphs::read(dump));
  if (search.inf() && (!search.nan() || search.inf()->run != search.nan()->run))
    print_finding(dump, graphs, *search.inf(), false, json);
  if (search.nan()) print_finding(dump, graphs, *search.nan(), true, json);
  if (!json && !search.nan() && search.looked() > 0)
    terminal::print(
        std::string(search.inf() ? "no NaN" : "no NaN and no infinity") + " in " +
        counted(search.looked(), "tensor") +
        (search.unknown() > 0 ? "; of " + std::to_string(search.unknown()) + " nothing is known" : "") +
        "\n");
  return search.looked() > 0;
}

}  // namespace opdump::cli
