// Random numbers that lead to nothing, as initial values of weights that are replaced.
#pragma once

#include <cstdint>
#include <set>

#include "compare/wiring/wiring.h"

namespace opdump::compare {

// The random operators of which an execution makes something that no operator reads to the end: all that is
// made of it is made of random numbers and constants outside of modules, and is replaced or left. What Python
// reads without an operator, as a shuffle does by tolist(), is not known. Empty if it reads something else,
// if something else is made of it, or where the recording does not say who made what.
std::set<std::uint32_t> find_draws_for_nothing(const Wiring& wiring, std::uint32_t execution);

}  // namespace opdump::compare
