// Lines of a program as people name them: "train.py:175", "train.py:170-180", "train.py".
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/graph.h"

namespace opdump::cli {

struct SourceLines {
  std::string file;  // a path or the end of one
  std::int64_t first = 0, last = std::numeric_limits<std::int64_t>::max();
};

// Errors: usage -- no file, or a range whose end comes first.
Result<SourceLines> parse_source_lines(std::string_view text);

// Whether one of these lines made the node. Calls that led to it count; the head of a function around such a
// line, which MindSpore also lists, does not unless it is among the lines.
bool made_by(const model::Node& node, const SourceLines& lines);

// The file of `node` that is meant by lines.file, with the line of its innermost call there; 0 if there is
// none.
int line_in(const model::Node& node, const SourceLines& lines);

}  // namespace opdump::cli
