// Operators that only one run has, as what explains a difference.
#pragma once

#include <cstddef>
#include <optional>

#include "compare/rules/rule.h"

namespace opdump::compare {

// The one at `place` in the pairs, missing or extra; nothing where that proves nothing, as in a log that does
// not list all, and in a recording that ends early.
std::optional<OperatorComparison> make_single(const Study& study, std::size_t place);

}  // namespace opdump::compare
