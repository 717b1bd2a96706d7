// Judges two dumps: pairs operators, measures every pair of tensors, names the first operator that went
// wrong. Fails closed: what has no partner is in the result, and nothing compared is never a success.
// The page for users: docs/compare.md.
#pragma once

#include "compare/comparison.h"

namespace opdump::compare {

// Compares some thousand operators at a time, and keeps nothing of them but what the result says. Errors:
// only internal, and those of options.share; data that cannot be compared becomes verdicts. Every process
// with a share that sees the same dumps gets the whole result; one that does not is left out with an error,
// and the result of the others says so.
Result<Comparison> compare_dumps(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                 const CompareOptions& options);

}  // namespace opdump::compare
