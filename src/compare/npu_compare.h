// Compares two runs of the same model on the accelerator: operators of the same name, tensor by tensor
// (cann.md 4.6, the end).
#pragma once

#include <vector>

#include "compare/group_compare.h"

namespace opdump::compare {

// An operator that one or both runs have.
struct NpuPair {
  int index = 0;  // by the time of mine; those that only the golden run has come after
  const OperatorFiles* mine = nullptr;
  const OperatorFiles* golden = nullptr;
};

std::vector<NpuPair> pair_operators(const DumpFolder& mine, const DumpFolder& golden);

GroupResult compare_npu_pair(const Comparison& comparison, const NpuPair& pair);

// What is told of a pair that was not compared.
GroupResult give_up_npu_pair(const Comparison& comparison, const NpuPair& pair, const std::string& why);

}  // namespace opdump::compare
