// A comparison as a table for a terminal: one line for each operator, no more than a reader wants.
#pragma once

#include <cstddef>
#include <string>

#include "compare/compare.h"

namespace opdump::report {

struct TableStyle {
  bool all = false;             // also the operators that match
  bool colour = false;          // ANSI colours
  std::size_t row_limit = 20;   // ignored if `all`; what is left out is counted below the table
  std::size_t line_limit = 10;  // of the reasons why the answer may not be whole
};

// The operators that do not match, in order of execution. Empty if every operator matches and not `all`.
std::string format_table(const compare::Comparison& comparison, const TableStyle& style);

// Notes, reasons why the answer may not be whole, coverage, conclusion: one line each, conclusion last.
std::string format_summary(const compare::Comparison& comparison, const TableStyle& style);

}  // namespace opdump::report
