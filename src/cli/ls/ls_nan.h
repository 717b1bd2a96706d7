// `opdump ls --nan`: where the first NaN and the first infinity come from.
#pragma once

#include "base/result.h"
#include "cli/select.h"

namespace opdump::cli {

// Looks at the executions in their order until one reads or writes a NaN, and prints it with the operator
// that made it; before it the first infinity that a calculation made, if one comes earlier. Without either,
// the first result in float16 that may be cut off. Returns false if no tensor had data to look at. Errors:
// io.
Result<bool> print_first_nan(const dump::DumpSet& dump, const Chosen& chosen, bool json);

}  // namespace opdump::cli
