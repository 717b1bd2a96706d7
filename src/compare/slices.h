// Operators that FFTS+ executed in slices have a file for each; here they are one again (cann.md 3.2).
#pragma once

#include "compare/dump_folder.h"
#include "compare/dumped_tensor.h"
#include "compare/failure.h"

namespace opdump::compare {

// The operator in `files`: the newest of them, or its slices put together along the axis that they were cut.
// Failures: those of read_dumped_operator; invalid_dump, data_shape -- slices that do not fit.
Outcome<DumpedOperator> read_slices(const OperatorFiles& files, Journal& journal);

}  // namespace opdump::compare
