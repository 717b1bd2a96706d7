// Operators that only one run has, as what explains a difference.
#pragma once

#include <cstddef>
#include <optional>

#include "compare/rules/rule.h"

namespace opdump::compare {

// The one at `place` in the pairs, missing or extra; nothing where that proves nothing, as in a log that does
// not list all, and in a recording that ends early.
std::optional<OperatorComparison> make_single(const Study& study, std::size_t place);

// Whether an operator differs because of what it reads, or cannot be compared: another one may explain it.
inline bool may_be_explained(Verdict verdict) {
  return verdict == Verdict::inherited || verdict == Verdict::not_comparable;
}

// Whether both runs have a tensor, in two shapes.
inline bool has_other_shape(const SlotComparison& slot) {
  return slot.golden != nullptr && slot.actual != nullptr && slot.golden->shape != slot.actual->shape;
}

}  // namespace opdump::compare
