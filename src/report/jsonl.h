// A comparison as JSON lines: one "slot" record for each pair of slots, then one "summary" record. JSON has
// no inf and no NaN: they are the strings "inf", "-inf", "nan". Keys that do not apply are absent; missing
// metrics are null. Names that are not UTF-8 are repaired with U+FFFD.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compare/compare.h"

namespace opdump::report {

// Increases when a key changes its meaning or is removed; new keys may be added at any time.
inline constexpr int kJsonSchemaVersion = 1;

// The records of one operator, each with a line feed.
void append_json_lines(std::string& out, const compare::OperatorComparison& op);

// The last record. `golden` and `actual` are the paths as the user gave them; `left_out` operators that do
// not match, or all that were left out, have no records.
std::string summary_json_line(const compare::Comparison& comparison, std::string_view golden,
                              std::string_view actual, std::uint64_t left_out = 0);

}  // namespace opdump::report
