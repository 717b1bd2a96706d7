#include "report/table.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
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
    "verdict", "rank", "step", "operator", "slot", "cosine", "max abs", "elements that differ", "note"};
constexpr std::size_t kRank = 1, kNote = 8;

std::string_view colour_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::match:
    case Verdict::skipped:
    case Verdict::rounding:
      return "\033[32m";  // green
    case Verdict::own_error:
      return "\033[1;31m";  // bold red
    case Verdict::unreadable:
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
  row[0] = compare::kVerdictNames[static_cast<std::size_t>(op.verdict)];
  row[kRank] = std::to_string(op.run().rank);
  row[2] = std::to_string(op.run().step);
  row[3] = name_of(op);
  if (op.golden == nullptr || op.actual == nullptr) {
    row[kNote] = op.actual == nullptr ? "only in golden" : "only in actual";
    return row;
  }
  const SlotComparison* slot = compare::key_slot(op);
  if (slot == nullptr) return row;
  row[4] = compare::slot_name(*slot);
  if (slot->metrics) {
    row[5] = format_g(slot->metrics->cosine);
    row[6] = format_g(slot->metrics->max_abs);
    row[7] = std::to_string(slot->metrics->mismatch_count) + " of " + std::to_string(slot->metrics->count);
  }
  row[kNote] = slot->reason;
  return row;
}

std::string format_row(std::span<const std::string> row, const std::array<std::size_t, kColumns>& widths,
                       std::string_view colour) {
  std::string line;
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (widths[c] == 0) continue;
    if (!line.empty()) line += "  ";
    const std::string padding(widths[c] - row[c].size(), ' ');
    if (c == 0 && !colour.empty())
      line.append(colour).append(row[c]).append("\033[0m").append(padding);
    else
      line.append(row[c]).append(padding);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

bool is_shown(const OperatorComparison& op, bool all) {
  return all || (!op.is_alone && op.verdict != Verdict::match && op.verdict != Verdict::rounding &&
                 op.verdict != Verdict::skipped);
}

}  // namespace

void Table::add(const OperatorComparison& op) {
  if (!is_shown(op, style_.all)) return;
  if (!style_.all && rows_.size() == style_.row_limit) {
    ++left_out_;
    return;
  }
  Cells cells = make_row(op);
  for (std::size_t c = 0; c < kColumns; ++c) {
    cells[c] = compare::one_line(std::move(cells[c]));
    widths_[c] = std::max(widths_[c], cells[c].size());
  }
  rows_.push_back({op.verdict, PackedTexts(cells)});
}

// Columns that no row fills are left out, and so is the rank where there is only one.
void Table::print(bool with_rank, const std::function<void(std::string_view line)>& write) const {
  if (rows_.empty()) return;
  std::array<std::size_t, kColumns> widths = widths_;
  if (!with_rank) widths[kRank] = 0;
  for (std::size_t c = 0; c < kColumns; ++c)
    if (widths[c] > 0) widths[c] = std::max(widths[c], kHeader[c].size());
  write(format_row(std::vector<std::string>(kHeader.begin(), kHeader.end()), widths, {}));
  for (const Row& row : rows_)
    write(format_row(row.cells.texts(), widths, style_.colour ? colour_of(row.verdict) : std::string_view()));
  if (left_out_ > 0)
    write("... and " + std::to_string(left_out_) + " more that do not match; --all shows every operator\n");
}

std::string format_summary(const compare::Comparison& comparison, const TableStyle& style) {
  std::string out;
  for (const std::string& note : comparison.notes) out += "note: " + note + "\n";
  const std::size_t count = comparison.incomplete.size();
  const std::size_t shown = style.all ? count : std::min(count, style.line_limit);
  for (std::size_t i = 0; i < shown; ++i) out += "incomplete: " + comparison.incomplete[i] + "\n";
  if (shown < count)
    out += "incomplete: ... and " + std::to_string(count - shown) + " more; --all shows them\n";
  return out + coverage_line(comparison) + "\n" + conclusion(comparison) + "\n";
}

}  // namespace opdump::report
