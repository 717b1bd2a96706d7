// Where the inputs of the first bad operator come from: what a name says, "inputs already differ", leaves the
// reader alone where no operator is at fault.
#pragma once

#include <string>
#include <vector>

#include "compare/comparison.h"
#include "compare/pairing.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// Of an operator that both runs have, and whose inputs differ, one of
//   "input.0 was changed in memory after Default/fc/addmm-op0 had made it"
//   "input.0 is made by Default/fc/mul-op3, which only actual has"
//   "input.0 is (4,10) in golden and (2,10) in actual"
//   "input.1 is 0.25 in golden and 0.5 in actual", which no operator made
// or "" where it is none of these. Operators are recognised by what is in their outputs: those of the same
// rank are read, from the last one before it on, as far as that is quick.
std::string explain_inputs(const OperatorComparison& op, const dump::Runs& golden, const dump::Runs& actual,
                           const std::vector<OperatorPair>& pairs);

// The last of these of runs in two frameworks, whoever made the number.
std::string explain_numbers(const OperatorComparison& op);

}  // namespace opdump::compare
