#include "report/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "base/text/columns.h"
#include "base/text/natural_order.h"
#include "base/text/printable.h"
#include "base/text/text.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "report/summary.h"

namespace opdump::report {
namespace {

using compare::OperatorComparison;
using compare::SlotComparison;
using compare::Verdict;

constexpr std::size_t kColumns = Table::kColumns;
using Cells = std::array<std::string, kColumns>;
constexpr std::array<std::string_view, kColumns> kHeader{
    "verdict", "rank", "step", "operator", "slot", "cosine", "relative L2", "max abs", "elements that differ",
    "note"};
constexpr std::size_t kRank = 1, kName = 3, kNote = 9;

std::string_view colour_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::match:
    case Verdict::skipped:
    case Verdict::rounding:
      return "\033[32m";  // green
    case Verdict::own_error:
    case Verdict::argument_differs:
      return "\033[1;31m";  // bold red
    case Verdict::unreadable:
    case Verdict::uncertain:
      return "\033[35m";  // magenta
    default:
      return "\033[33m";  // yellow
  }
}

std::string name_of(const OperatorComparison& op) {
  std::string name = compare::operator_name(op.run());
  if (op.golden != nullptr && op.actual != nullptr && op.golden->name != op.actual->name)
    name += " = " + compare::operator_name(*op.actual);
  return name;
}

Cells make_row(const OperatorComparison& op) {
  Cells row;
  row[0] = compare::verdict_name(op.verdict);
  row[kRank] = std::to_string(op.run().rank);
  row[2] = std::to_string(op.run().step);
  row[3] = name_of(op);
  if (op.golden == nullptr || op.actual == nullptr) {
    row[kNote] = op.is_filtered ? op.left_out : op.actual == nullptr ? "only in golden" : "only in actual";
    return row;
  }
  const SlotComparison* slot = compare::key_slot(op);
  if (slot == nullptr) return row;
  row[4] = compare::slot_name(*slot);
  if (slot->metrics) {
    row[5] = format_cosine(*slot->metrics);
    row[6] = format_g(slot->metrics->relative_l2);
    row[7] = format_g(slot->metrics->max_abs);
    row[8] = std::to_string(slot->metrics->mismatch_count) + " of " + std::to_string(slot->metrics->count);
  }
  row[kNote] = slot->reason;
  // Equal names need no word.
  if (op.paired_by != compare::PairedBy::name && op.paired_by != compare::PairedBy::none)
    row[kNote]
        .append(row[kNote].empty() ? "" : "; ")
        .append("paired by ")
        .append(compare::kPairedByNames[static_cast<std::size_t>(op.paired_by)])
        .append(op.confidence < 1 ? " (confidence " + format_g(op.confidence) + ")" : "");
  for (std::string& cell : row) {  // a name may look like one of our colours
    std::string text;
    append_printable(text, cell);
    cell = std::move(text);
  }
  return row;
}

std::string format_row(std::span<const std::string> row, const std::array<std::size_t, kColumns>& widths,
                       std::string_view colour) {
  std::string line;
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (widths[c] == 0) continue;
    if (!line.empty()) line += "  ";
    const std::string cell = shorten_middle(row[c], widths[c]);
    const std::string padding(widths[c] - display_columns(cell), ' ');
    if (c == 0 && !colour.empty())
      line.append(colour).append(cell).append("\033[0m").append(padding);
    else
      line.append(cell).append(padding);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// A row's columns in `width` at most: first the names give way, then the notes, then columns of numbers. What
// these leave over is for the names again.
void fit(std::array<std::size_t, kColumns>& widths, std::size_t width) {
  constexpr std::size_t kGoodName = 32, kLeastName = 12, kLeastNote = 12;
  const std::size_t whole_name = widths[kName];
  const auto total = [&] {
    std::size_t sum = 0;
    for (const std::size_t one : widths) sum += one > 0 ? one + 2 : 0;
    return sum - 2;
  };
  const auto shrink = [&](std::size_t column, std::size_t least) {
    if (total() > width && widths[column] > least)
      widths[column] -= std::min(total() - width, widths[column] - least);
  };
  shrink(kName, kGoodName);
  shrink(kNote, kLeastNote);
  for (const std::size_t column : {kNote, std::size_t{5}, std::size_t{8}, std::size_t{7}})
    if (total() > width) widths[column] = 0;
  shrink(kName, kLeastName);
  if (total() < width) widths[kName] = std::min(whole_name, widths[kName] + width - total());
}

}  // namespace

void Table::add(const OperatorComparison& op) {
  if (!rows_.wants(op)) return;
  Cells cells = make_row(op);
  for (std::size_t c = 0; c < kColumns; ++c) {
    cells[c] = compare::one_line(std::move(cells[c]));
    widths_[c] = std::max(widths_[c], display_columns(cells[c]));
  }
  rows_.add(op, {op.verdict, PackedTexts(cells)});
}

// Columns that no row fills are left out, and so is the rank where there is only one.
void Table::print(bool with_rank, const std::function<void(std::string_view line)>& write) const {
  const std::vector<const Row*> shown = rows_.ordered();
  const std::uint64_t left_out = rows_.left_out();
  if (shown.empty() && left_out == 0) return;
  std::array<std::size_t, kColumns> widths = widths_;
  if (!with_rank) widths[kRank] = 0;
  for (std::size_t c = 0; c < kColumns; ++c)
    if (widths[c] > 0) widths[c] = std::max(widths[c], kHeader[c].size());
  if (style_.width > 0) fit(widths, style_.width);
  if (!shown.empty()) write(format_row(std::vector<std::string>(kHeader.begin(), kHeader.end()), widths, {}));
  for (const Row* row : shown)
    write(
        format_row(row->cells.texts(), widths, style_.colour ? colour_of(row->verdict) : std::string_view()));
  if (left_out > 0)
    write("... and " + std::to_string(left_out) + " more" +
          (style_.all ? "" : " that do not match; --all shows every operator") + "\n");
}

std::vector<std::string> format_columns(const std::vector<std::vector<std::string>>& rows,
                                        std::size_t width) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], display_columns(row[c]));
  }
  std::size_t numbers = 0;
  for (std::size_t c = 1; c < widths.size(); ++c) numbers += widths[c] + 2;
  if (width > 0 && !widths.empty())
    widths[0] = std::min(widths[0], std::max<std::size_t>(16, width - std::min(width, numbers)));
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line = shorten_middle(row[0], widths[0]);
    line.append(widths[0] - display_columns(line), ' ');
    for (std::size_t c = 1; c < row.size(); ++c)
      line.append(2 + widths[c] - display_columns(row[c]), ' ').append(row[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(line + "\n");
  }
  return lines;
}

std::string format_opening(const compare::Comparison& comparison, std::size_t width) {
  if (!comparison.first_bad) return {};
  const OperatorComparison& op = *comparison.first_bad;
  const SlotComparison* const slot = compare::key_slot(op);
  if (slot == nullptr || !slot->metrics || slot->metrics->mismatch_count == 0 || !slot->shape) return {};
  const math::Metrics& m = *slot->metrics;
  const std::string source = op.run().op != nullptr ? dump::describe_source(*op.run().op) : "";
  std::string text = compare::one_line(compare::operator_name(op.run())) + "\n  " +
                     compare::slot_name(*slot) + " differs in step " + std::to_string(op.run().step) +
                     (source.empty() ? "" : ", called at " + source) + "\n";
  text += "  mismatched elements: " + std::to_string(m.mismatch_count) + " of " + std::to_string(m.count) +
          " (" + format_fixed(100 * static_cast<double>(m.mismatch_count) / static_cast<double>(m.count), 1) +
          " %)\n";
  const std::string worst = "  greatest difference: " + format_g(m.max_abs) + " at " +
                            format_position(m.max_abs_index, *slot->shape) + ", golden " +
                            format_g(m.max_abs_golden) + ", actual " + format_g(m.max_abs_actual);
  return text + wrap_words(worst, width, 4) + "\n\n";
}

std::string format_summary(const compare::Comparison& comparison, const TableStyle& style) {
  std::string out;
  const auto add = [&](const std::string& line) { out += wrap_words(line, style.width, 2) + "\n"; };
  for (const compare::Note& note : comparison.notes) add("note: " + note.text);
  const std::size_t count = comparison.incomplete.size();
  const std::size_t shown = style.all ? count : std::min(count, style.line_limit);
  for (std::size_t i = 0; i < shown; ++i) add("incomplete: " + comparison.incomplete[i]);
  if (shown < count) add("incomplete: ... and " + std::to_string(count - shown) + " more; --all shows them");
  add(coverage_line(comparison));
  add(conclusion(comparison));
  return out;
}

}  // namespace opdump::report
