// The operators that failed on each thread, by the memory that they were given.
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

// What those of the last exception on this thread were given.
const Memory& last_failed_memory();

}  // namespace opdump::torch_adapter
