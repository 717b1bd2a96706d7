// From slots to operators to the whole: who is at fault, who comes first, what the shell should see.
#pragma once

#include <cstdint>
#include <set>

#include "compare/compare.h"

namespace opdump::compare {

// Where absence proves nothing.
struct Unfinished {
  std::set<std::uint32_t> golden, actual;  // ranks whose recording stopped early or lost something
  // The dump cannot say that a tensor has no data: it just is not there, as in what `opdump convert` makes.
  bool golden_is_silent = false, actual_is_silent = false;
};

// Sets the operator's verdict from its slots, and tells apart the differences of its slots (see Verdict):
// outputs that differ get the operator's verdict, inputs input_differs. A slot that is absent from an
// unfinished recording becomes unreadable; one that is absent from a silent dump, and has no data in the
// other, skipped.
void judge_operator(OperatorComparison& op, const Unfinished& unfinished);

// Sets first_bad, coverage and outcome from judged operators and `comparison.incomplete`.
void judge_dumps(Comparison& comparison, const Unfinished& unfinished);

}  // namespace opdump::compare
