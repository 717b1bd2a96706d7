// Backward passes that only one run has, of modules whose forward pass is the same in both: in the other run
// no gradient reaches the module, because a tensor was detached, or its graph was not recorded. Not so where
// the other run may have the gradient under another name, as where it computes a forward pass again.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "compare/rules/rule.h"
#include "dump/read/operator_run.h"

namespace opdump::compare {

// The first operator of the first of these, as a place in `pairs`. Nothing if there are none, or if a module
// that only moves data is all there is. Gradients that nothing reads beside such passes are none, as those of
// a layer that no optimizer updates.
std::optional<std::size_t> find_one_sided_backward(const Study& study);

// Explains an operator of such a pass: "only in golden, like the whole backward pass of Default/fc: no
// gradient reaches it in actual".
std::string explain_one_sided_backward(const dump::OperatorRun& run, bool is_in_golden);

}  // namespace opdump::compare
