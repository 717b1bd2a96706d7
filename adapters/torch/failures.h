// Failing operators that do not reach the dispatch key, for plans that save the inputs of failing operators.
// Composite operators (reshape, linalg.inv) check their arguments themselves, and indexing checks them before
// any operator runs. RecordFunction observes the former, the Python package the latter.
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
