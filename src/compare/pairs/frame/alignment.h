// Which operators of a kind are the same where one dump has more of them than the other.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "dump/read/dump_set.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// What is around an operator in the order of execution, its name, its shapes, and what its tensors begin
// with.
struct Surroundings {
  std::string before, after, shapes, source;
  std::vector<double> norms = {};  // of its slots: sample_norm(); may be empty
  std::string name = {};
};

// The L2 norm of the first elements of a tensor; NaN if there is none at hand.
double sample_norm(const dump::Slot& slot);

// Returns the name of the next execution after the i-th that has data, or with `step` -1 before it; empty if
// there is none. `names` are those of the executions from `first` on. One without data, as a view, is in the
// log of only one of its executions.
std::string neighbour_with_data(const dump::Runs& runs, std::size_t first,
                                const std::vector<std::string>& names, std::size_t i, int step);

// Operators of one side times those of the other that align() is made for: time and memory grow with them.
inline constexpr std::size_t kMaxAlignment = 1 << 20;

// Pairs of a longest alignment whose likeness is largest, in order: the first number is of `a`. Those whose
// tensors say that operators ran in another order are exchanged. Pairs of equal names, where each of one side
// has one, if these are more alike: an optimised graph has operators of the same names in another order.
std::vector<std::pair<std::size_t, std::size_t>> align(const std::vector<Surroundings>& a,
                                                       const std::vector<Surroundings>& b);

}  // namespace opdump::compare
