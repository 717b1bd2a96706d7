// A comparison as a table for a terminal: one line for each operator, with a limited number of lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/packed_texts.h"
#include "compare/compare.h"

namespace opdump::report {

struct TableStyle {
  bool all = false;             // also the operators that match
  bool colour = false;          // ANSI colours
  std::size_t row_limit = 20;   // ignored if `all`; the table ends with the number of omitted rows
  std::size_t line_limit = 10;  // for the reasons why the result may be incomplete
};

// The operators that do not match, in the order in which they are added.
class Table {
 public:
  explicit Table(const TableStyle& style) : style_(style) {}
  void add(const compare::OperatorComparison& op);
  // Line by line; nothing if every operator matches and not `all`. `with_rank`: there are several.
  void print(bool with_rank, const std::function<void(std::string_view line)>& write) const;

  static constexpr std::size_t kColumns = 9;

 private:
  struct Row {
    compare::Verdict verdict = compare::Verdict::match;
    PackedTexts cells;
  };
  TableStyle style_;
  std::uint64_t left_out_ = 0;
  std::array<std::size_t, kColumns> widths_{};
  std::vector<Row> rows_;
};

// Notes, reasons why the result may be incomplete, coverage, conclusion: one line each, conclusion last.
std::string format_summary(const compare::Comparison& comparison, const TableStyle& style);

}  // namespace opdump::report
