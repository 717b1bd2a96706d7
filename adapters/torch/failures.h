// Operators that fail where the dispatch key does not see them, for plans that save the inputs of what fails.
// Operators that are made of others check their arguments themselves (reshape, linalg.inv), and indexing does
// so before there is any operator. RecordFunction sees the first, the Python package the second.
#pragma once

#include <ATen/core/ivalue.h>
#include <cstdint>
#include <span>
#include <vector>

namespace opdump::torch_adapter {

// The blocks of memory (StorageImpl) of an operator's tensors.
using Memory = std::vector<const void*>;
Memory memory_of(std::span<const c10::IValue> arguments);

// An operator that was given this memory failed on this thread, and that is recorded.
void remember_failure(Memory memory);

// How many there were on this thread so far.
std::uint64_t failure_count();

// Whether RecordFunction is asked for operators that fail; process-wide.
void watch_failures(bool on);

}  // namespace opdump::torch_adapter
