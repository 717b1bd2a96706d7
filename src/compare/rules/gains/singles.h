// Operators that only one run has, where dumps have no tensors of inputs, so that nobody sees who reads what
// they make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "compare/pairs/pairing.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// Of `singles` (places in `pairs`, ascending), those that no later operator of both runs in their rank would
// give away: what an optimizer does shows in the next forward pass.
std::vector<std::size_t> find_last_singles(const dump::Runs& golden, const dump::Runs& actual,
                                           std::span<const OperatorPair> pairs,
                                           std::span<const std::size_t> singles);

// Of `singles`, those with a result that the other run lacks in their step, by statistics: a largest and a
// smallest element and a norm that differ by more than four times `noise`, relative. One result that is there
// is enough, unless the operator writes to memory. Nobody knows what an optimizer makes of a gradient of
// which only rounding is left: tensors of so many elements as one of `uncertain` count as there. Other
// results of an operator are found by tensors, where there are any, before this is asked.
std::vector<std::size_t> find_lacking(const dump::Runs& golden, const dump::Runs& actual,
                                      std::span<const OperatorPair> pairs,
                                      std::span<const std::size_t> singles, double noise,
                                      const std::set<std::uint64_t>& uncertain);

}  // namespace opdump::compare
