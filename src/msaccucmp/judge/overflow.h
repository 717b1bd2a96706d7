// Numbers that a float16 cannot hold (cann.md 4.6).
#pragma once

#include <string>

#include "msaccucmp/log.h"
#include "msaccucmp/read/dump_folder.h"
#include "msaccucmp/read/dumped_tensor.h"

namespace opdump::msaccucmp {

// "YES" if a float16 is as large as one can be, "NO", or "NaN" for other dtypes.
std::string overflow_of(const DumpedTensor& tensor);

// Says in a table which tensors of operator `op` in `folder` overflowed, of its newest file alone. Failures:
// no_dump_file; those of the file.
Outcome<std::monostate> report_overflow(const DumpFolder& folder, const std::string& op, Log& log);

}  // namespace opdump::msaccucmp
