// execution_order/ms_execution_order_graph_{id}.csv and ms_global_execution_order_graph_{id}.csv,
// mindspore.md 5.2 and 5.3: the operators of a graph in order of execution, and the steps in which it was
// executed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/graph.h"

namespace opdump::format {

// A header, and the full name of each node on a line of its own, spelled as in the .ir.
std::string encode_execution_order(const model::Graph& graph);

// Errors: corrupt -- the header is missing.
Result<std::vector<std::string>> decode_execution_order(std::string_view text);

struct GlobalOrder {
  std::vector<std::int64_t> steps;
  std::uint64_t damaged_lines = 0;  // torn, or no number
};
// Each line is a step. Never fails: lines that are not numbers are counted.
GlobalOrder decode_global_order(std::string_view text);

}  // namespace opdump::format
