// Lines of a program as users write them: "train.py:175", "train.py:170-180", "train.py".
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

// Errors: usage -- no file, or a reversed range.
Result<SourceLines> parse_source_lines(std::string_view text);

// True if the node belongs to one of these lines: a call that led to it is there. The head of a function
// around such a call, which MindSpore also lists, counts only if it is among the lines.
bool made_by(const model::Node& node, const SourceLines& lines);

// The line of the innermost call of `node` in the file that matches lines.file; 0 if there is
// none.
int line_in(const model::Node& node, const SourceLines& lines);

}  // namespace opdump::cli
