// One tensor element by element, as the original's files of -op show it (cann.md 4.8).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/shape.h"
#include "msaccucmp/judge/element_errors.h"

namespace opdump::msaccucmp {

// "Index,N C H W,NPUDump,GroundTruth,AbsoluteError,RelativeError"
std::string element_header(const std::string& axes);

// Appends the line of element `index`. `shape` has four dimensions or more.
void append_element(std::string& out, std::uint64_t index, const model::Shape& shape,
                    const ElementError& error, bool are_bool);

// The same in a list of the largest errors, where what is no number is "-".
std::string top_line(std::uint64_t index, const model::Shape& shape, const ElementError& error,
                     bool are_bool);

// "-" in place of each `what`.
void dash_out(std::string& text, std::string_view what);

// Lines with commas as a table with tabs, for people.
std::string aligned_table(const std::string& header, const std::vector<std::string>& lines);

}  // namespace opdump::msaccucmp
