// Which results of a program another one lacks, with all that is made of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compare/pairs/results/result_graph.h"

namespace opdump::compare {

// Fills is_lost of all nodes, and what follows from it, from is_known. Not lost is what
//   - something that the other run has is made of: the inside of a layer that the other run computes
//   otherwise;
//   - makes less than rounding of anything that both have, as gradients of a maximum that is subtracted;
//   - is rounding alone, and what an optimizer makes of it;
//   - nothing shows any more: few of the updates after which the program ends.
void find_lost_results(ResultGraph& run);

// What is lost in one run only, while the other run has nothing that is lost, and what nothing reads: numbers
// that a program prints, checks of values, and results that other executions of the same line have shown
// before. They are not lost any more. Returns how many there are, and the first.
struct Extras {
  std::uint64_t count = 0;
  std::uint32_t first = 0;
};
Extras excuse_extras(ResultGraph& run);

bool is_lost_result(const ResultNode& node);

// "3 results of actual, the first of `add_` at train.py:31, are not in the other run, ..."; empty if all are.
std::string describe_lost(const ResultGraph& run, std::string_view side);

}  // namespace opdump::compare
