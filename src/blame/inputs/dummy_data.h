// Data that stands for none: zeros of a run that only measures time or memory, and what fills a tensor up to
// the size that a kernel wants.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "dump/read/dump_set.h"

namespace opdump::blame {

// ", and it is all zero in actual: a profiling run?" of a tensor that no recorded operator made and that
// differs; empty if its elements (compare::elements_of) say nothing. If shapes differ, it looks for one in
// the first places of the other one.
std::string describe_dummy(const dump::Slot& golden, std::span<const std::uint64_t> golden_elements,
                           const dump::Slot& actual, std::span<const std::uint64_t> actual_elements);

}  // namespace opdump::blame
