// A call in the recorded program that led to an operator.
#pragma once

#include <optional>
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

}  // namespace opdump::model
