// What fingerprints of runs say: where they part, and whether that is more than rounding.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/diff/answer.h"
#include "cli/diff/bits.h"
#include "compare/comparison.h"
#include "dump/read/dump_set.h"

namespace opdump::cli {

// Two runs of one command: whether it is deterministic, and if not, which operator makes the difference and
// what helps.
DiffAnswer judge_repetition(const dump::DumpSet& first, const dump::DumpSet& second);

// What two runs of A say: nothing if they are the same to the last bit.
struct Noise {
  Parting bits;                   // where they first differ
  std::optional<Parting> beyond;  // where they differ by more than rounding
};
Result<std::optional<Noise>> find_noise(const dump::DumpSet& first, const dump::DumpSet& second);

// A and B, which are afterwards as before. With the outcome `differs`, `rerun` has the steps to be recorded
// with tensors.
Result<DiffAnswer> judge_runs(dump::DumpSet& golden, dump::DumpSet& actual,
                              const std::optional<Noise>& noise);

}  // namespace opdump::cli
