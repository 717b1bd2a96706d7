// A comparison as CSV (RFC 4180: CRLF, fields quoted where needed): one row for each pair of slots, also
// matching ones. Numbers have enough digits to restore them exactly; infinities and NaN are inf and nan.
// Fields that do not apply are empty.
#pragma once

#include <string>
#include <string_view>

#include "compare/compare.h"

namespace opdump::report {

// "rank,graph,step,phase,operator,...,reason\r\n"
std::string_view csv_header();

// The rows of one operator.
void append_csv_rows(std::string& out, const compare::OperatorComparison& op);

}  // namespace opdump::report
