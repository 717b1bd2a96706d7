// What rounding does to each operator, from runs without a fault: `opdump blame --calibrate`.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "blame/request.h"
#include "compare/rules/gains/gains.h"
#include "dump/read/dump_set.h"

namespace opdump::blame {

struct Calibrated {
  std::uint64_t operators = 0;                    // that were run again
  std::map<std::string, std::uint64_t> left_out;  // reasons, with the number of operators
};

// Adds by how much operators enlarge differences of two runs without a fault, which have tensors: as if they
// had only outputs, and as if they had only statistics. Errors: those of compare_dumps.
Result<> calibrate_gains(const dump::DumpSet& golden, const dump::DumpSet& actual, compare::GainTable& gains);

// Runs every operator of a dump again and lets the worker, which `replay` asks, remember the errors. Errors:
// those of `replay`.
Result<> calibrate(const dump::DumpSet& dump, const Replay& replay, Calibrated& calibrated);

}  // namespace opdump::blame
