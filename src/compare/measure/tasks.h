// What is to be measured: pairs of tensors, those of the same files once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compare/comparison.h"

namespace opdump::compare {

struct Task {
  SlotComparison* slot = nullptr;
  std::uint64_t bytes = 0;              // to read, for progress
  std::vector<SlotComparison*> copies;  // slots with the same files
};

// Returns the tasks in the order of the operators.
std::vector<Task> make_tasks(std::span<OperatorComparison> operators);

// Measures the slot of each task on options.threads threads. options.progress receives the bytes that are
// done of them, `done` being those before.
void run_tasks(std::span<Task* const> tasks, const CompareOptions& options, std::uint64_t done,
               std::uint64_t total);

// Gives the copies what their task's slot has.
void copy_results(std::span<Task> tasks);

}  // namespace opdump::compare
