// Differences that reach no result: in rows that fill a tensor up, or under a mask.
#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "compare/comparison.h"
#include "dump/read/runs.h"

namespace opdump::blame {

// Whether what differs from suspects[first] on comes to an end in elements that no operator reads while it
// reads others of the same tensor, or in an operator that replaces them. `read` are the places of suspects
// whose differing outputs go into other differing ones. False if that takes too long to find out.
bool ends_unread(const dump::Runs& actual, std::span<const compare::OperatorComparison> suspects,
                 std::uint32_t first, const std::set<std::uint32_t>& read);

}  // namespace opdump::blame
