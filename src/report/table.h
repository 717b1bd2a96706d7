// A comparison as a table for a terminal: one line for each operator, with a limited number of lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/packed_texts.h"
#include "compare/compare.h"

namespace opdump::report {

struct TableStyle {
  bool all = false;                      // also the operators that match
  bool colour = false;                   // ANSI colours
  std::optional<std::size_t> row_limit;  // default: 20, any number if `all`; a line says how many are omitted
  std::size_t width = 0;  // of the terminal, which lines then fit: names are shortened in the middle
  enum class Order : std::uint8_t { execution, error, name };
  Order order = Order::execution;  // `error`: the largest relative error first; `name`: in natural order
  std::size_t line_limit = 10;     // for the reasons why the result may be incomplete
};

// The operators that do not match, in the order in which they are added.
class Table {
 public:
  explicit Table(const TableStyle& style) : style_(style) {}
  void add(const compare::OperatorComparison& op);
  // Line by line; nothing if every operator matches and not `all`. `with_rank`: there are several.
  void print(bool with_rank, const std::function<void(std::string_view line)>& write) const;

  static constexpr std::size_t kColumns = 10;

 private:
  std::size_t row_limit() const { return style_.row_limit.value_or(style_.all ? SIZE_MAX : 20); }

  struct Row {
    compare::Verdict verdict = compare::Verdict::match;
    PackedTexts cells;
    double error = 0;
  };
  TableStyle style_;
  std::uint64_t left_out_ = 0;
  std::array<std::size_t, kColumns> widths_{};
  std::vector<Row> rows_;
};

// The first bad operator as torch.testing.assert_close describes a difference: what differs and where, how
// many elements, the worst one with both values. A line each; nothing if no elements were compared.
std::string format_opening(const compare::Comparison& comparison);

// `text` in `width` columns, its middle replaced by "..".
std::string shorten_middle(std::string_view text, std::size_t width);

// Lines of a table whose first column is names and whose others are numbers. If `width` is not 0, names are
// shortened so that lines have at most so many columns.
std::vector<std::string> format_columns(const std::vector<std::vector<std::string>>& rows, std::size_t width);

// Notes, reasons why the result may be incomplete, coverage, conclusion: one line each, conclusion last.
std::string format_summary(const compare::Comparison& comparison, const TableStyle& style);

}  // namespace opdump::report
