// Other ways to write the same program: operators that only one run has, while the other run has the tensors
// that they make. Fused optimizers, checkpoints and zero_grad(set_to_none=False) are such ways.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "compare/pairing.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

// Casts, copies and fresh memory: what follows shows whether they matter.
bool only_moves(std::string_view type);

// Of `singles`, pairs of which only one run has an operator (places in `pairs`, ascending): those with a
// result that the other run lacks. A result is recognised by its elements, in any order. The other run has it
//   - if an operator reads it that both runs have, because inputs are compared;
//   - if another one of `singles` reads it, whose own results are looked at; or a view of it, soon after;
//   - if an operator of the other run makes it in the same step: bit by bit, or at a relative L2 distance of
//     at most 32 roundoffs, or four times `noise`, the largest of operators that both runs have.
// A result that is not in the dump is one that the other run lacks, but not that of a view.
std::vector<std::size_t> find_unexplained(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                          std::span<const OperatorPair> pairs,
                                          std::span<const std::size_t> singles, double noise);

}  // namespace opdump::compare
