// Compares two runs of the same model on the accelerator: operators of the same name, tensor by tensor
// (cann.md 4.6, the end).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compare/group_compare.h"

namespace opdump::compare {

// An operator that one or both runs have: its number in each.
struct NpuPair {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t mine = kNone, golden = kNone;
};

// By the time of mine; those that only the golden run has come after.
std::vector<NpuPair> pair_operators(const DumpFolder& mine, const DumpFolder& golden);

// `index` is the number of the pair.
GroupResult compare_npu_pair(const Comparison& comparison, std::size_t index, const NpuPair& pair);

// What is told of a pair that was not compared.
GroupResult give_up_npu_pair(const Comparison& comparison, std::size_t index, const NpuPair& pair,
                             const std::string& why);

}  // namespace opdump::compare
