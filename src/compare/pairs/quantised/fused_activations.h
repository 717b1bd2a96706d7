// Operators that ONNX Runtime's optimizer fused with the activation behind them, in a model that it saved:
// FusedConv bears the name of the Conv and gives what the Relu does.
#pragma once

#include <vector>

#include "compare/pairs/pairing.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// Joins the operator of the other run with its activation, which must have no partner.
void join_fused_activations(const dump::Runs& golden, const dump::Runs& actual,
                            std::vector<OperatorPair>& pairs);

}  // namespace opdump::compare
