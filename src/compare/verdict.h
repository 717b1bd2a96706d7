// From slots to operators to the whole: who is at fault, who comes first, what the shell should see.
#pragma once

#include <cstdint>
#include <set>

#include "compare/compare.h"

namespace opdump::compare {

// Ranks whose recording stopped early or lost something, on each side: what is absent there proves nothing.
struct Unfinished {
  std::set<std::uint32_t> golden, actual;
};

// Sets the operator's verdict from its slots, and tells apart the differences of its slots (see Verdict):
// outputs that differ get the operator's verdict, inputs input_differs. A slot that is absent from an
// unfinished recording becomes unreadable.
void judge_operator(OperatorComparison& op, const Unfinished& unfinished);

// Sets first_bad, coverage and outcome from judged operators and `comparison.incomplete`.
void judge_dumps(Comparison& comparison, const Unfinished& unfinished);

}  // namespace opdump::compare
