// The file in which a slot's elements lie, as far as they need it.
#pragma once

#include "base/file/file.h"
#include "base/result.h"
#include "dump/read/operator_run.h"

namespace opdump::dump {

// Maps the file from its start to the end of the elements. What lies behind them, however much it is, takes
// no address space. Errors: as MappedFile::open_part.
Result<MappedFile> map_slot_file(const Slot& slot);

}  // namespace opdump::dump
