// Text as Python reads and shows it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace opdump::msaccucmp {

// `text` as Python's repr() shows a string: 'text'. Of what cannot be printed, controls, blanks and bytes
// that are no UTF-8 are escaped.
std::string python_quoted(std::string_view text);

// What int() makes of `text`, as str() shows it: "1_000" and "+1000" are "1000", and so are digits of other
// scripts. Nothing if it is no number.
std::optional<std::string> python_int(std::string_view text);

// Whether argparse takes `word` for a number that is less than zero: -1, -.5.
bool is_negative_number(std::string_view word);

}  // namespace opdump::msaccucmp
