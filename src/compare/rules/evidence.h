// Evidence sums up what the tensors of an operator say together.
#pragma once

#include "compare/comparison.h"

namespace opdump::compare {

struct Evidence {
  struct OfSide {
    bool differs = false, is_unpaired = false, is_unreadable = false, is_compared = false;
  };
  OfSide inputs, outputs;
  bool has_slots = false;
};

// Of an operator whose slots are measured, after rules have left some of them out.
Evidence evidence_of(const OperatorComparison& op);

// Sets the operator's verdict by its evidence, and separates the differences of its slots (see Verdict):
// outputs that differ get the operator's verdict, inputs input_differs.
void judge_by_evidence(OperatorComparison& op);

}  // namespace opdump::compare
