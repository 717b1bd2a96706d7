// Which operator of one rank is which of the others: the ranks of a program run the same operators.
#pragma once

#include <cstdint>
#include <vector>

#include "dump/read/runs.h"

namespace opdump::compare {

class RankPeers {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit RankPeers(const dump::Runs& runs);

  // The ranks in order; the first one stands for all.
  const std::vector<std::uint32_t>& ranks() const { return ranks_; }
  // Returns the executions of all ranks that belong to this one, kNone where a rank has none. Empty if the
  // first rank has none.
  std::vector<std::uint32_t> of(std::uint32_t index) const;

 private:
  std::vector<std::uint32_t> ranks_;
  std::vector<std::vector<std::uint32_t>> peers_;  // by rank, without the first; by execution of the first
  std::vector<std::uint32_t> firsts_;              // of each execution: that of the first rank
};

}  // namespace opdump::compare
