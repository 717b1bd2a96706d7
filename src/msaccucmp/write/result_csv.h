// A table as Python's csv module writes it: CRLF, and quotes only where they are needed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "msaccucmp/judge/result_table.h"

namespace opdump::msaccucmp {

// One line with its line end.
std::string csv_line(const Row& row);

// The first cell that a spreadsheet would execute, if there is one: the original writes no table with such.
std::optional<std::string> find_formula(const Row& row);

}  // namespace opdump::msaccucmp
