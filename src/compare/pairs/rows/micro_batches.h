// A batch that one run makes in several micro-batches, whose gradients it adds up before it updates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compare/operator_pair.h"
#include "compare/pairs/rows/passes.h"
#include "dump/read/runs.h"

namespace opdump::compare {

struct MicroBatches {
  bool are_of_golden = false;  // the run that has them
  std::vector<Pass> all = {};  // in order

  // Returns the number of a pair's micro-batch within its step, from 1 on; 0 if it has none, as an update.
  std::uint32_t number_of(const OperatorPair& pair) const;

  // Returns how many micro-batches a step has at most.
  std::uint32_t count() const;

  std::map<std::uint32_t, std::uint32_t> numbers = {};  // of each micro-batch, by its first execution
};

struct MicroBatchPairs {
  std::vector<OperatorPair> pairs = {};
  MicroBatches batches = {};
  bool leaves_end_open = false;  // one run alone computes something after its last step
};

// The operators of each micro-batch of the one run paired with those of the other's batch, which so have
// several partners, and what updates with what updates. Nothing if not every step has one batch in one run
// and as many micro-batches as the first in the other.
std::optional<MicroBatchPairs> pair_micro_batches(const dump::Runs& golden, const dump::Runs& actual);

}  // namespace opdump::compare
