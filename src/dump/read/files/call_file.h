// The file of an execution in schemes (B) and (C), read: which tensors it holds and where
// (format/tensors/dump_data.h).
#pragma once

#include <filesystem>
#include <vector>

#include "dump/read/dump_set.h"

namespace opdump::dump {

// The tensors of a file. A tensor whose data cannot be had says why in undumped_reason; what is wrong with
// the file is added to `problems`.
std::vector<Slot> read_call_file(const std::filesystem::path& path, std::uint64_t timestamp_us,
                                 Problems& problems);

// The record of an operator that overflowed, as container or as JSON; rank, graph and step are not filled in.
// Errors: io, corrupt, limit.
Result<Overflow> read_overflow_file(const std::filesystem::path& path);

}  // namespace opdump::dump
