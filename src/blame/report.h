// An answer for people and for programs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "blame/answer.h"

namespace opdump::blame {

// Increases when a key changes its meaning or is removed; new keys may be added at any time.
inline constexpr int kJsonSchemaVersion = 1;

// One sentence, then what it rests on, some lines. The first line is one of
//   culprit (certain): Default/fc/addmm-op3 (forward, step 0) at train.py:31 computes a wrong output.0: error
//     2e+04 times what rounding explains
//   no culprit: 12 of 412 operators differ, all of them by rounding
//   no difference: 412 operators
// `actual` is the path of the dump, for the command that reproduces the error.
std::string format_answer(const BlameAnswer& answer, std::string_view golden, std::string_view actual);

// Its first line.
std::string first_line(const BlameAnswer& answer);
// What is wrong with an operator: "computes a wrong output.0: error 2e+04 times what rounding explains".
std::string statement_of(const Finding& finding);

// One JSON object in one line, with at most `limit` findings.
std::string answer_json(const BlameAnswer& answer, std::string_view golden, std::string_view actual,
                        std::size_t limit);

}  // namespace opdump::blame
