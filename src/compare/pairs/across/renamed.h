// Runs of one framework whose modules have other names, as a port and its reference.
#pragma once

#include <span>

#include "compare/operator_pair.h"
#include "dump/read/operator_run.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// Whether an operator is one of a module and computes in the forward pass.
bool computes_in_module(const dump::OperatorRun& run);

// Whether names leave a tenth of the operators of modules that compute in the forward pass without a partner,
// of the run that has fewer: the other run may have them under other names.
bool may_be_renamed(const dump::Runs& golden, const dump::Runs& actual, std::span<const OperatorPair> pairs);

// The share of operators that compute, of the run that has more of them, that have a partner: of those of
// backward passes if there are some, as each program may update its weights in its own way.
double paired_share(const dump::Runs& golden, const dump::Runs& actual, std::span<const OperatorPair> pairs);

}  // namespace opdump::compare
