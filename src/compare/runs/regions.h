// Regions of a program that a compiler replaced by code of its own. A recording has each as one operator,
// `compiled_R_C`, which no operator of an eager run is paired with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compare/pairing/pairing.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

// Of an operator: a region.
bool is_region(std::string_view type);

// A sentence about regions among `unpaired` of `runs` that are one operator each, although operators in them
// can be recorded; nothing if there are none. Regions with recorded operators have no results of their own.
// `side` is golden or actual.
std::optional<std::string> describe_regions(const dump::Runs& runs, std::span<const std::uint32_t> unpaired,
                                            std::string_view side);

// The first region of actual (a place in `pairs`) that made a tensor which golden does not have in that step,
// apart from rounding: what is wrong begins there, as all regions before it made what golden has. Nothing if
// there is no such region.
std::optional<std::size_t> find_wrong_region(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                             std::span<const OperatorPair> pairs);

}  // namespace opdump::compare
