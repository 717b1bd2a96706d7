#include "report/table.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "compare/names.h"
#include "report/summary.h"

namespace opdump::report {
namespace {

using compare::OperatorComparison;
using compare::SlotComparison;
using compare::Verdict;

constexpr std::size_t kColumns = 9;
using Row = std::array<std::string, kColumns>;
constexpr std::array<std::string_view, kColumns> kHeader{
    "verdict", "rank", "step", "operator", "slot", "cosine", "max abs", "elements that differ", "note"};
constexpr std::size_t kRank = 1, kNote = 8;

std::string_view colour_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::match:
    case Verdict::skipped:
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

Row make_row(const OperatorComparison& op) {
  Row row;
  row[0] = compare::kVerdictNames[static_cast<std::size_t>(op.verdict)];
  row[kRank] = std::to_string(op.run().rank);
  row[2] = std::to_string(op.run().step);
  row[3] = name_of(op);
  if (op.golden == nullptr || op.actual == nullptr) {
    row[kNote] = op.actual == nullptr ? "only in golden" : "only in actual";
    return row;
  }
  const SlotComparison* slot = telling_slot(op);
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

Row on_one_line(Row row) {
  for (std::string& cell : row) cell = compare::one_line(std::move(cell));
  return row;
}

void append_row(std::string& out, const Row& row, const std::array<std::size_t, kColumns>& widths,
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
  out.append(line).push_back('\n');
}

// Columns that no row fills are left out, and so is the rank where there is only one.
std::array<std::size_t, kColumns> column_widths(const std::vector<Row>& rows, bool with_rank) {
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows)
    for (std::size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], row[c].size());
  if (!with_rank) widths[kRank] = 0;
  for (std::size_t c = 0; c < kColumns; ++c)
    if (widths[c] > 0) widths[c] = std::max(widths[c], kHeader[c].size());
  return widths;
}

bool is_shown(const OperatorComparison& op, bool all) {
  return all || (!op.is_alone && op.verdict != Verdict::match && op.verdict != Verdict::skipped);
}

}  // namespace

std::string format_table(const compare::Comparison& comparison, const TableStyle& style) {
  std::vector<Row> rows;
  std::vector<Verdict> verdicts;
  std::uint64_t left_out = 0;
  for (const OperatorComparison& op : comparison.operators) {
    if (!is_shown(op, style.all)) continue;
    if (!style.all && rows.size() == style.row_limit) {
      ++left_out;
      continue;
    }
    rows.push_back(on_one_line(make_row(op)));
    verdicts.push_back(op.verdict);
  }
  if (rows.empty()) return {};
  const auto widths = column_widths(rows, has_ranks(comparison));
  std::string out;
  Row header;
  std::ranges::copy(kHeader, header.begin());
  append_row(out, header, widths, {});
  for (std::size_t i = 0; i < rows.size(); ++i)
    append_row(out, rows[i], widths, style.colour ? colour_of(verdicts[i]) : std::string_view());
  if (left_out > 0)
    out += "... and " + std::to_string(left_out) + " more that do not match; --all shows every operator\n";
  return out;
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
