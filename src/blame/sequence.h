// Operators that only one run has, where nothing else explains what follows them.
#pragma once

#include <cstdint>

#include "blame/finding_log.h"
#include "blame/inputs/input_search.h"
#include "blame/suspects.h"
#include "compare/comparison.h"

namespace opdump::blame {

enum class Singles : std::uint8_t {
  none,      // or something else was found
  harmless,  // they change nothing beyond rounding
  blamed,    // one of them, or an operator that reads what another one made
};
// Looks for the operator that begins the difference if the walk has found nothing.
Singles blame_sequence(const Suspects& suspects, const InputSearch& inputs,
                       const compare::Comparison& comparison, FindingLog& findings);

}  // namespace opdump::blame
