// Which operator, argument, weight or random source is to blame that two runs differ. Where compare judges by
// differences, this runs operators again in float64 on the inputs that each run recorded: an operator is at
// fault if its output is not what its own inputs and rounding explain. The page for users: docs/blame.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "blame/answer.h"
#include "blame/request.h"
#include "compare/compare.h"

namespace opdump::blame {

struct BlameOptions {
  compare::CompareOptions compare;
  Replay replay;
  // Is given requests that `replay` will probably be asked, so that it can work ahead; may be empty.
  std::function<void(const Upcoming& expected)> expect;
  std::uint64_t limit = 20'000;  // of operators that are run again
};

// Looks at operators in golden's order of execution until one is certainly to blame, then for others that
// are, too: among those whose outputs differ more than what they read. If one dump has more ranks than the
// other, nothing runs again, and the answer is that of compare_dumps. Errors: those of compare_dumps and of
// `replay`. `comparison` gets what compare_dumps found.
Result<BlameAnswer> find_blame(const dump::DumpSet& golden, const dump::DumpSet& actual,
                               const BlameOptions& options, compare::Comparison& comparison);

}  // namespace opdump::blame
