// Ways to pair two runs of which names pair little.
#pragma once

#include "compare/compare.h"
#include "compare/facts/unfinished.h"
#include "compare/pairs/pairing.h"

namespace opdump::compare {

// The share of the forward pass that "no difference" must rest on, and which leaves it open what a difference
// comes from.
inline constexpr double kLeastCover = 0.9, kHardlyAny = 0.5;

// Tries other ways to pair than by name where names pair little: by what operators compute, and by results.
// Then `pairing` is of the way that explains more, and `is_across` if it is not by name. Compares the dumps
// for that, up to three times. Errors: those of compare_dumps().
Result<> pair_otherwise(const dump::DumpSet& golden, const dump::DumpSet& actual, const TailsOfBoth& tails,
                        const CompareOptions& options, bool& is_across, Pairing& pairing);

}  // namespace opdump::compare
