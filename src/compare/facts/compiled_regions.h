// Regions of a program that a compiler replaced by code of its own, as a recording has them: each is one
// operator, `compiled_R_C`. Regions whose operators are recorded have no results of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "dump/read/runs.h"

namespace opdump::compare {

// An output with a tensor.
bool is_region_result(const dump::Slot& slot);

// Whether an execution has one.
bool has_region_result(const dump::Runs& runs, std::uint32_t run);

// The regions of `runs` whose operators are recorded, by type: each has a mark without results before them. A
// second execution then has results of the generated code, if these are not those of the operators.
std::set<std::string> regions_with_operators(const dump::Runs& runs);

// A sentence about regions among `unpaired` of `runs` that are one operator each, although operators in them
// can be recorded; nothing if there are none. Regions with recorded operators have no results of their own.
// `side` is golden or actual.
std::optional<std::string> describe_regions(const dump::Runs& runs, std::span<const std::uint32_t> unpaired,
                                            std::string_view side);

}  // namespace opdump::compare
