// Parts of a step that do the same again: passes of micro-batches, and calls of a model.
#pragma once

#include <cstdint>
#include <vector>

#include "compare/operator_pair.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// Executions that follow one another: from the first up to the last, which is no part of it.
struct Pass {
  std::uint32_t first = 0, last = 0;
};

// Pairs what two runs did, by names that are numbered from there on.
std::vector<OperatorPair> pair_passes(const dump::Runs& golden, Pass of_golden, const dump::Runs& actual,
                                      Pass of_actual);

}  // namespace opdump::compare
