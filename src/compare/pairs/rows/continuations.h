// One pass of golden that actual makes in several steps: a model reads its input, and then what follows, with
// what it keeps of the positions before (a cache).
#pragma once

#include <cstdint>
#include <vector>

#include "compare/operator_pair.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// `pairs`, with the operators of steps that only actual has paired with those of golden's last step before
// them. Nothing if there are no such steps, or too little of them is in golden's.
std::vector<OperatorPair> pair_continuations(const dump::Runs& golden, const dump::Runs& actual,
                                             const std::vector<OperatorPair>& pairs);

}  // namespace opdump::compare
