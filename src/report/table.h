// A comparison as a table for a terminal: one line for each operator, with a limited number of lines.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/packed_texts.h"
#include "compare/compare.h"
#include "report/shown_rows.h"
#include "report/table_style.h"

namespace opdump::report {

// The operators that do not match, in the order in which they are added.
class Table {
 public:
  explicit Table(const TableStyle& style) : style_(style), rows_(style) {}
  void add(const compare::OperatorComparison& op);
  // Line by line; nothing if every operator matches and not `all`. `with_rank`: there are several.
  void print(bool with_rank, const std::function<void(std::string_view line)>& write) const;

  static constexpr std::size_t kColumns = 10;

 private:
  struct Row {
    compare::Verdict verdict = compare::Verdict::match;
    PackedTexts cells;
  };
  TableStyle style_;
  ShownRows<Row> rows_;
  std::array<std::size_t, kColumns> widths_{};
};

// The first bad operator as torch.testing.assert_close describes a difference: what differs and where, how
// many elements, the worst one with both values. A line each, broken at spaces where it is longer than
// `width` columns (0: never); nothing if no elements were compared.
std::string format_opening(const compare::Comparison& comparison, std::size_t width = 0);

// Lines of a table whose first column is names and whose others are numbers. If `width` is not 0, names are
// shortened so that lines have at most so many columns.
std::vector<std::string> format_columns(const std::vector<std::vector<std::string>>& rows, std::size_t width);

// Notes, reasons why the result may be incomplete, coverage, conclusion: one line each, conclusion last.
// Lines that are longer than the terminal is wide are broken at spaces.
std::string format_summary(const compare::Comparison& comparison, const TableStyle& style);

}  // namespace opdump::report
