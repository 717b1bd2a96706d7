// What of golden may be put in the place of what of actual: results that the other run lacks, line by line.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "compare/pairs/results/result_graph.h"

namespace opdump::blame {

// Lost results of one line of a program in one step.
struct LostLine {
  compare::StepPart part = compare::StepPart::forward;
  std::int64_t steps_before = 0;  // the last one that counts
  std::vector<const compare::MadeTensor*> results = {};
};

// Those up to the part of the step in which the execution `last` is, by their first results.
std::vector<LostLine> find_lost_lines(const compare::ResultGraph& run, std::uint32_t last);

// Tensors of golden, each with the one of actual for which it is put.
using Exchange = std::vector<std::pair<const compare::MadeTensor*, const compare::MadeTensor*>>;

// What to try for a line of actual: golden's lines that are most alike, first for its first result alone,
// then for all of them, as the updates of all parameters.
std::vector<Exchange> choose_exchanges(std::span<const LostLine> golden, const LostLine& line);

}  // namespace opdump::blame
