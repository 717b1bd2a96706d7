// The answer where nothing runs again.
#pragma once

#include "base/result.h"
#include "blame/answer.h"
#include "compare/compare.h"

namespace opdump::blame {

// An operator that runs again on a rank's shard says nothing of the whole: the answer is what the comparison
// says, which goes into `comparison`. Errors: those of compare_dumps.
Result<BlameAnswer> judge_by_comparison(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                        const compare::CompareOptions& options,
                                        compare::Comparison& comparison);

}  // namespace opdump::blame
