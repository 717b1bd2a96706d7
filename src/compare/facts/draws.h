// Random numbers that lead to nothing, as initial values of weights that are replaced.
#pragma once

#include <cstdint>

#include "compare/wiring/wiring.h"

namespace opdump::compare {

// Whether an execution makes something of random numbers alone, and no operator reads that to the end: all
// that is made of it is made of random numbers and constants outside of modules, and is replaced or left.
// What Python reads without an operator, as a shuffle does by tolist(), is not known. False where the
// recording does not say who made what.
bool is_draw_for_nothing(const Wiring& wiring, std::uint32_t execution);

}  // namespace opdump::compare
