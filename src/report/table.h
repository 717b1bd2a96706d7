// A comparison as a table for a terminal: one line for each operator, with a limited number of lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/spilled_texts.h"
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
  void add(const compare::OperatorComparison& op);  // or a part of one, until it has no more
  // Line by line; nothing if every operator matches and not `all`. `with_rank`: there are several. Errors: io
  // -- rows are very many, and those that were put aside cannot be read.
  Result<> print(bool with_rank, const std::function<void(std::string_view line)>& write) const;

  static constexpr std::size_t kColumns = 9;

 private:
  void add_row(const compare::OperatorComparison& op);

  TableStyle style_;
  std::optional<compare::OperatorComparison> parts_;  // what is kept of those of the operator
  std::uint64_t left_out_ = 0;
  std::array<std::size_t, kColumns> widths_{};
  SpilledTexts rows_;  // packed
  std::string row_;    // kept for its memory
};

// Notes, reasons why the result may be incomplete, coverage, conclusion: one line each, conclusion last.
std::string format_summary(const compare::Comparison& comparison, const TableStyle& style);

}  // namespace opdump::report
