// A dump by module: `opdump ls` of so many operators that nobody would read a line for each.
#pragma once

#include <cstddef>
#include <optional>

#include "cli/select.h"

namespace opdump::cli {

// More executions than this are shown as a tree unless the user asks for the list.
inline constexpr std::size_t kMostListed = 500;

// A line for each module with its operators, executions, tensors and bytes: `depth` modules in one another,
// or as deep as some ten lines allow.
inline constexpr std::size_t kMostTreeLines = 40;
void print_tree(const dump::DumpSet& dump, const Chosen& chosen, std::optional<std::size_t> depth);

}  // namespace opdump::cli
