#include "failures.h"

#include <algorithm>
#include <utility>

#include "operands.h"

namespace opdump::torch_adapter {
namespace {

// The failures of a thread: how many, and the memory that those of the last exception were given.
struct Failures {
  std::uint64_t count = 0;
  Memory memory;
};
Failures& failures() {
  thread_local Failures of_this_thread;
  return of_this_thread;
}

}  // namespace

Memory memory_of(std::span<const c10::IValue> arguments) {
  Memory memory;
  for (const c10::IValue& argument : arguments)
    for_each_storage(argument, [&](c10::StorageImpl* storage) { memory.push_back(storage); });
  return memory;
}

void remember_failure(Memory memory) {
  Failures& mine = failures();
  ++mine.count;
  mine.memory = std::move(memory);
}

std::uint64_t failure_count() { return failures().count; }

const Memory& last_failed_memory() { return failures().memory; }

}  // namespace opdump::torch_adapter
