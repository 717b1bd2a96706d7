// A run that goes on from a checkpoint: its first step is a later one of the other run.
#pragma once

#include <cstdint>

#include "compare/facts/unfinished.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

// The step of golden that actual's step 0 is, by what the forward passes read: weights and data that are
// equal there and in no other step. Negative where golden is the one that goes on. 0 where most of it is
// equal in the same steps, and where the data does not say.
std::int64_t find_step_shift(const dump::Runs& golden, const dump::Runs& actual, const TailsOfBoth& tails);

}  // namespace opdump::compare
