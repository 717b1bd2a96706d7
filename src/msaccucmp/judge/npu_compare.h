// Compares two runs of the same model on the accelerator: operators of the same name, tensor by tensor
// (cann.md 4.6, the end).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "msaccucmp/judge/group_compare.h"

namespace opdump::msaccucmp {

// An operator that one or both runs have.
struct NpuPair {
  FilesByOperator::Span mine, golden;
};

// By the time of mine, those of equal time by their first files' names; those that only the golden run has
// come after.
std::vector<NpuPair> pair_operators(const DumpFolder& mine, const DumpFolder& golden);

// `index` is the number of the pair.
GroupResult compare_npu_pair(const GroupComparison& comparison, std::size_t index, const NpuPair& pair);

// The result of a pair that was not compared.
GroupResult give_up_npu_pair(const GroupComparison& comparison, std::size_t index, const NpuPair& pair,
                             const std::string& why);

}  // namespace opdump::msaccucmp
