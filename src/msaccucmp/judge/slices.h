// Operators that FFTS+ executed in slices have a file for each; here they are one again (cann.md 3.2).
#pragma once

#include "msaccucmp/log.h"
#include "msaccucmp/read/dump_folder.h"
#include "msaccucmp/read/dumped_tensor.h"

namespace opdump::msaccucmp {

// The operator in `files`: the newest of them, or its slices put together along the axis that they were cut.
// Failures: those of read_dumped_operator; invalid_dump, data_shape -- slices that do not fit.
Outcome<DumpedOperator> read_slices(const OperatorFiles& files, Log& log);

}  // namespace opdump::msaccucmp
