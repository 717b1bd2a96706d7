// What modules give that each run computes by operators of its own: the rounding in which they differ was
// made there, by no operator that both runs have.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "compare/comparison.h"
#include "compare/pairing/operator_pair.h"
#include "compare/runs/rewritten.h"
#include "dump/read/runs.h"

namespace opdump::compare {

class RewrittenResults {
 public:
  RewrittenResults() = default;
  // Reads the results of the operators that only one run has, in such modules.
  RewrittenResults(const dump::Runs& golden, const dump::Runs& actual, std::span<const OperatorPair> pairs);

  // Whether an input is what such a module gave in both runs, and equal but for a few roundoffs.
  bool contain(const SlotComparison& slot) const;

 private:
  // By number of elements and what is in them, in any order.
  using Results = std::map<std::pair<std::uint64_t, std::uint64_t>, std::set<RewrittenModules::Place>>;
  Results golden_, actual_;
};

}  // namespace opdump::compare
