// What is said of operators that only one run has.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dump/read/dump_set.h"
#include "dump/read/operator_run.h"

namespace opdump::compare {

// "only in actual", and for a sum with a factor, as weight decay is one: "only in actual (it adds 0.01 x
// input.1 to input.0)".
std::string only_in(std::string_view side, const dump::OperatorRun& run);

// What users mistake for one another: a column and a row of n numbers that are broadcast to n x n, where the
// other run does not. "(6,1) and (6) are broadcast to (6,6) in actual only, by Default/sub-op0 at
// train.py:6"; of the first one. `single` are operators of `runs` that the other run lacks, in the order of
// their execution.
std::vector<std::string> describe_broadcast(const dump::Runs& runs, std::span<const std::uint32_t> single,
                                            std::string_view side);

// "the optimizer is Adam in golden and AdamW in actual"; nothing where they are the same, as far as is known.
std::vector<std::string> describe_optimizers(const dump::Runs& golden,
                                             std::span<const std::uint32_t> only_golden,
                                             const dump::Runs& actual,
                                             std::span<const std::uint32_t> only_actual);

}  // namespace opdump::compare
