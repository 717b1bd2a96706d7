// Views move no data, so a recording has none of them: where one has other arguments, only what reads it
// differs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "compare/comparison.h"
#include "compare/operator_pair.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// Describes a judged operator: "Default/slice-op1 at gen.py:20 has other arguments: start is 6 in golden and
// 5 in actual". Empty unless it is a view of both runs with other arguments, and they have as many ranks and
// the same framework.
std::string describe_other_view(const OperatorComparison& op);

// Describes so the last view before the pair at `place`, in its rank and step; of one that chooses elements
// rather than of the shapes that follow from it.
std::string find_view_before(const dump::Runs& golden, const dump::Runs& actual,
                             std::span<const OperatorPair> pairs, std::size_t place);

// The same of the last view in the module of `op`, and before it, whose arguments were changed in its step
// and are others in the two runs since. A recording lists views in one step only, and later what changed of
// them.
std::string find_other_view(const dump::Runs& golden, const dump::Runs& actual,
                            std::span<const OperatorPair> pairs, const OperatorComparison& op);

}  // namespace opdump::compare
