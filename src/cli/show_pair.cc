#include "cli/show_pair.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text/columns.h"
#include "base/text/text.h"
#include "cli/slot_facts.h"
#include "cli/values.h"
#include "compare/measure/measure.h"
#include "compare/measure/statistics.h"
#include "compare/names.h"
#include "math/metrics/error_details.h"
#include "model/position.h"
#include "report/summary.h"
#include "report/table.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

using compare::SlotComparison;
using dump::OperatorRun;

using Key = std::tuple<std::uint32_t, std::int64_t, std::string>;  // rank, step, name as in files

Key key_of(const OperatorRun& run) {
  return {run.rank, run.step, model::sanitise_name(compare::operator_name(run))};
}

// The executions of `actual` that are also in `golden`, by golden's number. Of several in one step the first
// of the same graph, else the first.
std::map<std::uint32_t, std::uint32_t> find_partners(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                                     const Chosen& chosen) {
  std::map<Key, std::vector<std::uint32_t>> wanted;
  for (const std::uint32_t i : chosen) wanted[key_of(golden.runs().without_slots(i))].push_back(i);
  std::map<std::uint32_t, std::uint32_t> partners;
  for (std::uint32_t i = 0; i < actual.runs().size(); ++i) {
    const auto found = wanted.find(key_of(actual.runs().without_slots(i)));
    if (found == wanted.end()) continue;
    for (const std::uint32_t of : found->second) {
      const bool is_same = golden.runs().section_of(of).graph_id == actual.runs().section_of(i).graph_id;
      const auto [known, is_new] = partners.try_emplace(of, i);
      if (!is_new && is_same &&
          golden.runs().section_of(of).graph_id != actual.runs().section_of(known->second).graph_id)
        known->second = i;
    }
  }
  return partners;
}

// A bar for each bin, as high as the logarithm of its count.
std::string sparkline(const math::ValueHistogram& histogram, std::uint64_t most) {
  static constexpr std::array<std::string_view, 9> kBars{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const std::uint64_t count : histogram.counts) {
    const double share = std::log1p(static_cast<double>(count)) / std::log1p(static_cast<double>(most));
    text +=
        kBars[count == 0 ? 0 : std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(share * 8)), 1, 8)];
  }
  return text;
}

bool is_equal(const math::Metrics& m) { return m.max_abs == 0 && m.mismatch_count == 0; }

std::string histogram_lines(const math::ErrorDetails& details, bool are_equal) {
  std::uint64_t most = 1;
  for (const math::ValueHistogram* side : {&details.golden, &details.actual})
    for (const std::uint64_t count : side->counts) most = std::max(most, count);
  if (!(details.golden.highest > details.golden.lowest)) return {};
  const std::string bars = sparkline(details.golden, most);
  return (are_equal ? "    values of both     " + bars
                    : "    values of golden   " + bars + "\n    values of actual   " +
                          sparkline(details.actual, most)) +
         "\n                       from " + format_g(details.golden.lowest) + " to " +
         format_g(details.golden.highest) + ", heights are logarithms of counts\n";
}

// Rows and columns of the last two dimensions around one element.
struct ElementWindow {
  std::uint64_t base = 0, stride = 0;  // of the first element of the plane; between rows
  std::uint64_t first_row = 0, rows = 1, first_column = 0, columns = 1;
  std::string prefix;  // the index in the other dimensions: "3,0,"
};

ElementWindow window_around(const model::Shape& shape, std::uint64_t index, std::uint64_t most_rows,
                            std::uint64_t most_columns) {
  ElementWindow window;
  const std::size_t rank = shape.rank();
  const auto size = [&](std::size_t axis) { return static_cast<std::uint64_t>(shape[axis]); };
  const std::uint64_t width = rank > 0 ? size(rank - 1) : 1, height = rank > 1 ? size(rank - 2) : 1;
  const std::vector<std::uint64_t> position = model::position_of(index, shape);
  const std::uint64_t column = rank > 0 ? position[rank - 1] : 0, row = rank > 1 ? position[rank - 2] : 0;
  const auto fit = [](std::uint64_t at, std::uint64_t all, std::uint64_t most) {
    const std::uint64_t count = std::min(all, most);
    return std::pair(std::min(at - std::min(at, count / 2), all - count), count);
  };
  std::tie(window.first_row, window.rows) = fit(row, height, most_rows);
  std::tie(window.first_column, window.columns) = fit(column, width, most_columns);
  window.stride = width;
  window.base = index / (width * height) * width * height;
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) window.prefix += std::to_string(position[axis]) + ",";
  return window;
}

// Both sides in the tensor's shape, once if they are equal: the window's rows under a line of columns, a star
// before the worst element.
std::string window_lines(const model::TensorView& golden, const model::TensorView& actual,
                         const ElementWindow& window, std::uint64_t worst, bool are_equal) {
  std::vector<std::pair<const char*, const model::TensorView*>> sides{{"golden", &golden},
                                                                      {"actual", &actual}};
  if (are_equal) sides = {{"both", &golden}};
  std::string text;
  for (const auto& [name, view] : sides) {
    std::vector<std::vector<std::string>> rows{{std::string("    ") + name}};
    for (std::uint64_t c = 0; c < window.columns; ++c)
      rows[0].push_back("[..," + std::to_string(window.first_column + c) + "]");
    for (std::uint64_t r = 0; r < window.rows; ++r) {
      std::vector<std::string>& row = rows.emplace_back();
      row.push_back("      [" + window.prefix + std::to_string(window.first_row + r) + ",..]");
      for (std::uint64_t c = 0; c < window.columns; ++c) {
        const std::uint64_t at =
            window.base + (window.first_row + r) * window.stride + window.first_column + c;
        const std::string value = format_element(*view, at);
        row.push_back(at == worst ? "*" + value : value);
      }
    }
    for (const std::string& line : report::format_columns(rows, 0)) text += line;
  }
  return text;
}

// The window around the worst element, with as many columns as the terminal has room for.
std::string fitting_window(const model::TensorView& golden, const model::TensorView& actual,
                           std::uint64_t worst, bool differs, bool are_equal) {
  const std::size_t width = terminal::terminal_width();
  for (std::uint64_t columns = 5;; --columns) {
    const std::string text = window_lines(golden, actual, window_around(golden.shape, worst, 5, columns),
                                          differs ? worst : UINT64_MAX, are_equal);
    const auto lines = split(text, '\n');
    const auto fits = [&](std::string_view line) { return display_columns(line) <= width; };
    if (width == 0 || columns == 1 || std::ranges::all_of(lines, fits)) return text;
  }
}

// "min -1 against -1.5", only what differs is shown twice.
std::string statistics_line(const compare::Columns& golden, const compare::Columns& actual) {
  std::string line;
  for (const auto& [name, value] : golden) {
    const auto other = std::ranges::find(actual, name, &std::pair<std::string, std::string>::first);
    if (!line.empty()) line += ", ";
    line.append(name).append(" ").append(value);
    if (other != actual.end() && other->second != value) line.append(" against ").append(other->second);
  }
  return line.empty() ? line : wrap_words("    stats   " + line, terminal::terminal_width(), 12) + "\n";
}

Json columns_json(const compare::Columns& columns) {
  Json object = Json::object();
  for (const auto& [name, value] : columns) object[name] = number_json(value);
  return object;
}

compare::Columns columns_of(const dump::Slot& slot, const dump::StoredTensor* tensor) {
  if (tensor != nullptr) {
    auto computed = compare::compute_columns(tensor->view(), slot.dtype, compare::all_columns());
    if (computed) return std::move(*computed);
  }
  return slot.statistics.columns();
}

class PairPrinter {
 public:
  PairPrinter(const OperatorRun& golden, const PairArguments& arguments)
      : golden_(golden), arguments_(arguments) {}

  // Returns whether the slots differ.
  bool print(const dump::Slot& golden, const dump::Slot& actual) {
    SlotComparison pair;
    pair.golden = &golden;
    pair.actual = &actual;
    compare::measure_slot(pair, {}, 0);
    const auto g = read(golden), a = read(actual);
    const compare::Columns of_golden = columns_of(golden, g ? &*g : nullptr),
                           of_actual = columns_of(actual, a ? &*a : nullptr);
    if (arguments_.json)
      print_json(pair, of_golden, of_actual);
    else
      print_text(pair, g, a, statistics_line(of_golden, of_actual));
    return !compare::is_fine(pair.verdict);
  }

 private:
  static std::optional<dump::StoredTensor> read(const dump::Slot& slot) {
    if (slot.file.empty()) return std::nullopt;
    auto tensor = dump::StoredTensor::read(slot, dump::Alignment::any);
    return tensor ? std::optional(std::move(*tensor)) : std::nullopt;
  }

  void print_text(const SlotComparison& pair, const std::optional<dump::StoredTensor>& golden,
                  const std::optional<dump::StoredTensor>& actual, const std::string& statistics) {
    SlotFacts facts = slot_facts(*pair.golden);
    const std::string verdict(compare::verdict_name(pair.verdict));
    std::string text = "  " + compare::slot_name(*pair.golden) + "  " + describe(*pair.golden, facts) + "  " +
                       (pair.verdict == compare::Verdict::own_error ? "differs" : verdict) +
                       (pair.reason.empty() ? "" : ": " + pair.reason) + "\n";
    if (pair.metrics) text += metrics_lines(*pair.metrics, pair);
    text += statistics;
    if (golden && actual && golden->view().shape == actual->view().shape &&
        golden->view().element_count() > 0) {
      const std::uint64_t worst = pair.metrics ? pair.metrics->max_abs_index : 0;
      const bool differs = pair.metrics && pair.metrics->mismatch_count > 0;
      const bool are_equal = pair.metrics && is_equal(*pair.metrics);
      const auto details =
          math::examine_errors(actual->view(), golden->view(), compare::default_tolerance(pair.dtype), true);
      if (details) text += histogram_lines(*details, are_equal);
      text += fitting_window(golden->view(), actual->view(), worst, differs, are_equal);
    }
    terminal::print(text);
  }

  static std::string metrics_lines(const math::Metrics& m, const SlotComparison& pair) {
    if (is_equal(m)) return "    equal   all " + std::to_string(m.count) + " elements\n";
    const std::string cosine = report::format_cosine(m);
    std::string text = "    differ  " + std::to_string(m.mismatch_count) + " of " + std::to_string(m.count) +
                       " elements, relative error " + format_g(m.relative_l2) +
                       (cosine.empty() ? "" : ", cosine " + cosine) + "\n";
    if (pair.shape)
      text += "    worst   " + report::format_position(m.max_abs_index, *pair.shape) + ": golden " +
              format_g(m.max_abs_golden) + ", actual " + format_g(m.max_abs_actual) + ", difference " +
              format_g(m.max_abs) + "\n";
    return text;
  }

  void print_json(const SlotComparison& pair, const compare::Columns& golden,
                  const compare::Columns& actual) {
    Json record = run_json(golden_);
    record["record"] = "pair";
    record.update(slot_json(*pair.golden, slot_facts(*pair.golden)));
    record["actual_file"] = pair.actual->file;
    record["verdict"] =
        pair.verdict == compare::Verdict::own_error ? "differs" : compare::verdict_name(pair.verdict);
    if (!pair.reason.empty()) record["reason"] = pair.reason;
    if (pair.metrics) {
      const math::Metrics& m = *pair.metrics;
      record["count"] = m.count;
      record["mismatch_count"] = m.mismatch_count;
      for (const auto& [name, value] :
           {std::pair("cosine", m.cosine), std::pair("max_abs", m.max_abs), std::pair("max_rel", m.max_rel),
            std::pair("relative_l2", m.relative_l2), std::pair("mean_abs", m.mean_abs),
            std::pair("rmse", m.rmse)})
        record[name] = std::isfinite(value) ? Json(value) : Json(format_g(value));
      if (pair.shape && m.mismatch_count > 0)
        record["worst"] = {{"index", report::format_position(m.max_abs_index, *pair.shape)},
                           {"golden", number_json(format_g(m.max_abs_golden))},
                           {"actual", number_json(format_g(m.max_abs_actual))}};
    }
    record["golden_statistics"] = columns_json(golden);
    record["actual_statistics"] = columns_json(actual);
    terminal::print_json(json_line(record));
  }

  const OperatorRun& golden_;
  const PairArguments& arguments_;
};

}  // namespace

Result<bool> show_pairs(const dump::DumpSet& golden, const dump::DumpSet& actual, const Chosen& chosen,
                        const PairArguments& arguments) {
  const std::map<std::uint32_t, std::uint32_t> partners = find_partners(golden, actual, chosen);
  if (partners.empty() && !chosen.empty())
    return Error(Code::not_found, actual.path().string() + ": has no execution of " +
                                      compare::operator_name(golden.runs().without_slots(chosen[0])) +
                                      " in the same rank and step; opdump compare pairs other names, too");
  bool differs = false, found = false;
  std::set<std::string> known;
  for (const std::uint32_t i : chosen) {
    const OperatorRun run = golden.runs()[i];
    if (!arguments.json)
      terminal::print(heading(run, terminal::terminal_width()) + "\n  rank " + std::to_string(run.rank) +
                      ", step " + std::to_string(run.step) + "\n");
    const auto partner = partners.find(i);
    if (partner == partners.end()) {
      differs = true;
      terminal::print_error("warning: " + actual.path().string() + " has no such execution");
      continue;
    }
    const OperatorRun other = actual.runs()[partner->second];
    PairPrinter printer(run, arguments);
    for (const dump::Slot& slot : run.slots) {
      const std::string name = compare::slot_name(slot);
      known.insert(name);
      if (!arguments.slot.empty() && arguments.slot != name) continue;
      found = true;
      const auto same = [&](const dump::Slot& one) { return compare::slot_name(one) == name; };
      const auto at = std::ranges::find_if(other.slots, same);
      if (at != other.slots.end()) {
        differs = printer.print(slot, *at) || differs;
        continue;
      }
      differs = true;
      if (!arguments.json) terminal::print("  " + name + "  only in golden\n");
    }
  }
  if (found || arguments.slot.empty()) return differs;
  std::vector<std::string_view> names(known.begin(), known.end());
  return Error(Code::not_found, "there is no slot '" + arguments.slot + "'; it has " + join_or(names));
}

}  // namespace opdump::cli
