// A call in the recorded program that led to an operator.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace opdump::model {

struct Frame {
  std::string file;
  int line = 0;
  std::string function;  // may be empty
  bool operator==(const Frame&) const = default;
};

// "train.py:31:Net.forward"
std::string format_frame(const Frame& frame);
// Nothing if it contains no number between colons.
std::optional<Frame> parse_frame(std::string_view text);

// The first call of a stack that is of no package of Python, and so of the user's program; null if there is
// none.
const Frame* find_user_frame(std::span<const Frame> stack);

}  // namespace opdump::model
